#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/host_queue.hpp"
#include "collect/profile_stacks.hpp"
#include "collect/thread_registry.hpp"

namespace flameprobe {

/// What a thread of the host reports at its end, after the last code of its own.
struct EndedThread {
    std::uint32_t tid = 0;
    std::uint64_t cpu_ns = 0;   // of all its life
    std::uint64_t routine = 0;  // its start routine
    std::uint64_t caller = 0;   // the return address of `routine`, in libc
    char name[16] = {};         // comm
};

/// The time of a thread that finds no room is in the process's clock only.
using EndedThreads = HostQueue<EndedThread, 8192>;

/// How much of each thread's CPU time its samples and notes stand for, and how much is left. Time that no sample covers
/// is never put on a sampled stack: it is written as a note, without hits. The collector thread only.
///
/// Samples of one thread stand for more or less than it used; those of many add up. So what is left is settled for all
/// threads together, at the end: what the process used and samples do not stand for. It is shared among kinds of
/// threads (one name, one start routine), then among a kind's threads, by what clocks have more than samples.
class Ledger {
public:
    /// `period_ns`: 0 if the event is no clock; then only weights are counted.
    Ledger(ProfileSink& sink, ProfileStacks& stacks, ThreadRegistry& threads, Summary& summary, std::uint64_t start_ns,
           std::uint64_t period_ns)
        : sink_(sink),
          stacks_(stacks),
          threads_(threads),
          summary_(summary),
          start_ns_(start_ns),
          period_ns_(period_ns) {}

    /// Whether all CPU time is sampled, the kernel's included: if not, what samples do not cover was spent there.
    void samples_all_time(bool all) { samples_all_time_ = all; }

    /// The process has used so much CPU time since recording began: to be told before each drain, as far as it is
    /// known.
    void used(std::uint64_t process_cpu_ns);
    /// A sample came that stands for `weight`. Gives the part that counts.
    std::uint64_t sampled(ThreadId thread, std::uint64_t weight);
    /// The outermost frames of a sampled thread: `caller` called the start routine, and `root` called that.
    void learn_root(std::uint64_t caller, std::uint64_t root) { root_of_[caller] = root; }
    /// CPU time that could not be sampled, as a frame of its own.
    void note(Note note, ThreadId thread, std::uint64_t weight);
    /// Samples that an engine lost. If the event is a clock, the threads' CPU clocks show whose they were.
    void lost(std::uint64_t weight);
    std::uint64_t lost_unassigned() const { return lost_unassigned_; }
    /// To be called before a flush: shares what was lost among the living threads.
    void assign_lost();
    /// To be called before a flush: notes what living threads' clocks have and samples do not cover, if it is more than
    /// late samples explain. The process has used `used_ns`.
    void note_missing(Note why, std::uint64_t used_ns);

    void thread_ended(const EndedThread& thread);
    /// At the end of the profile: writes the CPU time that no sample covers, also what threads used after their last
    /// reading. As much of it as samples were reported lost is [lost], the rest [not sampled] or what else is known.
    /// Returns what was reported lost beyond that: some of the records that perf counts as lost are no samples.
    std::uint64_t write_rests(std::uint64_t process_cpu_ns);
    bool wrote() const { return wrote_; }
    std::uint64_t not_sampled_ns() const { return not_sampled_ns_; }

    std::size_t memory() const;  // bytes, estimated

private:
    /// A thread's start routine and its return address; 0: not known.
    struct Begin {
        std::uint64_t routine = 0, caller = 0;
    };
    /// A thread that has used more than its samples stand for.
    struct Rest {
        ThreadId thread;
        std::int64_t ns;
        bool in_kernel = false;  // where perf may not sample it
    };
    /// Threads of one name and start routine.
    struct Kind {
        Begin begin;
        std::uint64_t ended = 0;
        std::int64_t sum_ns = 0;    // clocks less samples and notes
        std::vector<Rest> rests{};  // of these the ones above zero
        std::int64_t of_unsampled_ns = 0;

        void add(const Rest& rest) {
            sum_ns += rest.ns;
            if (rest.ns > 0) rests.push_back(rest);
        }
    };

    Kind& kind(const std::string& name, const Begin& begin);
    void settle(ThreadId thread, std::uint64_t cpu_ns, const std::string& name, const Begin& begin);
    void settle_unsampled(const std::string& name, std::uint64_t cpu_ns, const Begin& begin);
    void settle_running(const ThreadRegistry::Running& thread);
    void write_kind(const std::string& name, Kind& kind, double share, double lost_share);
    void write_rest(const Rest& rest, const Begin& begin, double lost_share);
    StackId not_sampled_stack(const Begin& begin);
    void assign_lost_to(ThreadId thread, std::uint64_t weight);
    void write(ThreadId thread, StackId stack, std::uint64_t weight);

    ProfileSink& sink_;
    ProfileStacks& stacks_;
    ThreadRegistry& threads_;
    Summary& summary_;
    const std::uint64_t start_ns_, period_ns_;
    std::map<std::pair<std::string, std::uint64_t>, Kind> kinds_;  // by name and start routine
    std::unordered_map<std::uint64_t, std::uint64_t> root_of_;     // see learn_root()
    std::uint64_t excess_ns_ = 0;   // of what samples stand for over what the process used
    std::uint64_t deficit_ns_ = 0;  // or the other way round
    std::uint64_t taken_ns_ = 0;    // from samples because of that, and not given back
    std::uint64_t lost_unassigned_ = 0;
    std::uint64_t not_sampled_ns_ = 0;
    bool wrote_ = false;
    bool samples_all_time_ = true;
};

}  // namespace flameprobe
