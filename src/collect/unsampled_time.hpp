#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "collect/ended_threads.hpp"
#include "collect/profile_stacks.hpp"
#include "collect/thread_registry.hpp"

namespace flameprobe {

/// Turns CPU time in pieces smaller than a sampling period into whole periods, since a profile holds no others. Each
/// period falls due at a random moment within it: so a piece gets one with the probability of its length over the
/// period, whatever rhythm the pieces have, and the sum is right within a period.
class PeriodRest {
public:
    PeriodRest(std::uint64_t period_ns, std::uint64_t seed) : period_ns_(period_ns), random_(seed) { draw(); }

    /// Adds a piece and gives how many periods fell due in it, at least `least` and at most `most`: a period given
    /// early is not given later, and one held back is. A negative piece corrects earlier ones.
    std::uint64_t add(std::int64_t ns, std::uint64_t least = 0, std::uint64_t most = ~std::uint64_t{0}) {
        std::uint64_t due = 0;
        for (sum_ += ns; period_ns_ != 0 && due < most && (due < least || sum_ >= due_at_); ++due) {
            begin_ += static_cast<std::int64_t>(period_ns_);
            draw();
        }
        return due;
    }

private:
    void draw() {
        const std::uint64_t value = splitmix64(random_ += 0x9e3779b97f4a7c15);
        due_at_ = begin_ + 1 + static_cast<std::int64_t>(period_ns_ == 0 ? 0 : value % period_ns_);
    }

    std::uint64_t period_ns_;
    std::uint64_t random_;
    std::int64_t sum_ = 0, begin_ = 0, due_at_ = 0;
};

/// CPU time that threads used and no sample shows: samples that were lost, and what a thread's samples do not cover of
/// its clock. It is never put on a stack, since none was seen using it. It is written to the profile in whole periods,
/// without hits. The collector thread only.
///
/// Samples of one thread stand for more or less than it used, and are right for many. So rests are settled for all
/// threads together, at the end: no more is not sampled than the process used and samples do not stand for. It is
/// shared among threads of one name and start routine, and these, by what their clocks miss.
class UnsampledTime {
public:
    /// `pid` varies what is drawn at random.
    UnsampledTime(ProfileSink& sink, ProfileStacks& stacks, ThreadRegistry& threads, Summary& summary,
                  std::uint64_t start_ns, std::uint64_t period_ns, std::uint32_t pid);

    /// Whether all CPU time is sampled, the kernel's included: if not, what samples do not cover was spent there.
    void samples_all_time(bool all) { samples_all_time_ = all; }

    /// The process has used so much CPU time since recording began: to be told before each drain, as far as it is
    /// known.
    void used(std::uint64_t process_cpu_ns);
    /// Samples came that stand for `periods`, less `short_by_ns`. Gives the whole periods that they count for, which is
    /// right on average.
    std::uint64_t sampled(ThreadId thread, std::uint64_t periods, std::int64_t short_by_ns = 0);
    /// The outermost frames of a sampled thread: `caller` called the start routine, and `root` called that.
    void learn_root(std::uint64_t caller, std::uint64_t root) { root_of_[caller] = root; }
    void sampled_at(ThreadId thread, StackId stack) { of(thread).last = stack; }
    /// The stack of the thread's last sample; 0 if there is none.
    StackId last_stack(ThreadId thread) const { return thread < sampled_.size() ? sampled_[thread].last : 0; }

    /// CPU time that an engine knows it could not sample, and `why`: `lost` for a thread that blocks the signal or has
    /// no timer. There must be a period.
    void could_not_sample(ThreadId thread, std::uint64_t cpu_ns, Note why);
    /// CPU time that could not be sampled, as a frame of its own.
    void note(Note note, ThreadId thread, std::uint64_t weight);
    /// Samples that an engine lost. Of which threads they were is found by the CPU clocks.
    void lost(std::uint64_t samples);
    std::uint64_t lost_unassigned() const { return lost_unassigned_; }
    void assign_lost_to(ThreadId thread, std::uint64_t weight) {
        note(Note::lost, thread, weight);
        lost_unassigned_ -= weight;
    }
    void drop_lost() { lost_unassigned_ = 0; }

    /// The CPU time of a thread that ended.
    void thread_ended(const EndedThread& thread);
    /// At the end of the profile, with the process's CPU time: writes what the samples do not cover of all threads, as
    /// far as samples were reported lost as that, and what ended threads used after they had reported their clocks, or
    /// did not report.
    void write_rests(std::uint64_t process_cpu_ns);
    /// Whether any time without a sample has been written.
    bool wrote() const { return wrote_; }
    /// Periods of `[not sampled]`.
    std::uint64_t not_sampled() const { return not_sampled_; }

    std::size_t memory() const;  // bytes, estimated

private:
    /// What is known of a thread that was sampled.
    struct Sampled {
        std::uint64_t credit_ns = 0;  // CPU time for which samples and notes stand
        std::uint64_t periods = 0;    // that time in whole periods, as near as possible
        StackId last = 0;
    };
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
        std::optional<ThreadId> without_id{};  // one account for those that were never sampled
        std::uint64_t ended = 0;
        std::int64_t sum_ns = 0;    // clocks less samples and notes
        std::vector<Rest> rests{};  // of these the ones above zero
        std::int64_t of_unsampled_ns = 0;

        void add(const Rest& rest) {
            sum_ns += rest.ns;
            if (rest.ns > 0) rests.push_back(rest);
        }
    };

    Sampled& of(ThreadId thread);
    std::uint64_t whole_periods(Sampled& sampled, std::int64_t ns);
    Kind& kind(const std::string& name, const Begin& begin);
    ThreadId account(Kind& kind, const std::string& name);
    void settle(ThreadId thread, std::uint64_t cpu_ns, const std::string& name, const Begin& begin);
    void settle_unsampled(const std::string& name, std::uint64_t cpu_ns, const Begin& begin);
    void settle_living();
    void write_kind(const std::string& name, Kind& kind, double share, double lost_share);
    void write_rest(const Rest& rest, const Begin& begin, double lost_share);
    StackId not_sampled_stack(const Begin& begin);
    void write(ThreadId thread, StackId stack, std::uint64_t weight);

    ProfileSink& sink_;
    ProfileStacks& stacks_;
    ThreadRegistry& threads_;
    Summary& summary_;
    const std::uint64_t start_ns_, period_ns_;
    PeriodRest rest_;
    std::vector<Sampled> sampled_;                               // by thread
    std::unordered_map<ThreadId, std::uint64_t> less_than_one_;  // nanoseconds that could not be sampled, not noted yet
    std::map<std::pair<std::string, std::uint64_t>, Kind> kinds_;  // by name and start routine
    std::unordered_map<std::uint64_t, std::uint64_t> root_of_;     // see learn_root()
    std::uint64_t credit_ns_ = 0;                                  // of all threads: for which samples and notes stand
    std::uint64_t excess_ns_ = 0;                                  // of that over what the process used
    std::uint64_t lost_unassigned_ = 0;
    std::uint64_t not_sampled_ = 0;
    bool wrote_ = false;
    bool samples_all_time_ = true;
};

}  // namespace flameprobe
