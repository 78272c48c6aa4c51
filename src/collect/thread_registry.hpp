// Which threads were seen, and how much CPU time each used while sampling was on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collect/cpu_clocks.hpp"
#include "profile/sink.hpp"

namespace flameprobe {

/// The collector thread only.
class ThreadRegistry {
public:
    /// By tid, of the threads that live: their CPU clocks in nanoseconds, as last read.
    using Readings = std::unordered_map<std::uint32_t, std::uint64_t>;

    ThreadRegistry(ProfileSink& sink, std::uint64_t period_ns, const CpuClocks& clocks)
        : sink_(sink), clocks_(clocks), period_ns_(period_ns) {}

    /// The thread that has this tid now; a tid that was reused is another thread.
    ThreadId find(std::uint32_t tid);
    /// Nothing if it has not been asked for.
    std::optional<ThreadId> known(std::uint32_t tid) const;
    /// For what is known of the process only: a thread of its own, with tid 0, so that it is put down to no other.
    ThreadId unknown();
    /// The same, or no thread's id if there was nothing to put down to it yet.
    ThreadId unknown_if_any() const { return unknown_; }
    void started(std::uint32_t tid);
    void renamed(std::uint32_t tid, std::string_view name);
    void ended(std::uint32_t tid, std::uint64_t time_ns);
    /// It told its CPU clock at its end, of which what counts goes into its account. Nothing for a thread that was not
    /// sampled; `cpu_ns` then becomes what counts of it.
    std::optional<ThreadId> told_end(std::uint32_t tid, std::uint64_t& cpu_ns);
    /// After each drain: a thread that ended before the last one will not tell its clock any more.
    void new_round();
    /// For threads with this name that ended without being sampled: one account for all of them, with tid 0.
    ThreadId unsampled(std::string_view name);
    /// CPU time of such threads.
    void used(ThreadId thread, std::uint64_t cpu_ns) {
        threads_[thread].cpu_ns += cpu_ns;
        threads_[thread].most_cpu_ns = threads_[thread].cpu_ns;
    }
    std::uint64_t behind_ns() const { return clocks_.behind_ns(); }
    /// The tids of all threads that live and have used CPU time, as was read last.
    std::vector<std::pair<std::uint32_t, std::uint64_t>> living() const;
    bool has_id(std::uint32_t tid) const;
    void count(ThreadId thread, std::uint64_t weight) {
        threads_[thread].samples += weight;
        told_ += weight;
    }
    /// Periods that no sample stands for, as a note in the profile tells.
    void count_noted(ThreadId thread, std::uint64_t weight) {
        threads_[thread].noted += weight;
        told_ += weight;
    }
    /// Periods of all threads, counted or noted.
    std::uint64_t told() const { return told_; }

    /// CPU time from now on counts, of all threads that run now: for a start in the middle of the host's life.
    void resume();
    /// CPU time counts from where another account of the same run left off, at `time_ns`.
    void resume_from(const Readings& readings, std::uint64_t time_ns);
    /// Reads the CPU clocks: of the threads that were sampled since the last call, and of some others in turn.
    void read_clocks();
    /// Of all threads that live, also of those that nothing was heard of.
    void read_all_clocks();
    Readings readings() const;

    /// CPU time of all threads that have an id.
    std::uint64_t cpu_ns() const;
    /// Of every thread that has an id.
    std::vector<ThreadAccount> accounts() const;
    struct Missing {
        ThreadId thread;
        std::uint64_t used;     // periods by the thread's CPU clock
        std::uint64_t missing;  // of them there is neither a sample nor a note
    };
    /// Of the threads that miss `least` periods or more. Those that nothing was heard of get an id.
    std::vector<Missing> missing(std::uint64_t least);
    std::size_t count_accounts() const { return threads_.size(); }
    std::size_t memory() const;  // bytes, estimated

private:
    static constexpr ThreadId none = ~ThreadId{0};
    /// Of a thread that lives.
    struct Living {
        ThreadId id = none;          // none until there is something to say of it
        bool ran = true;             // was sampled since its clock was read
        std::uint64_t base_ns = 0;   // its CPU clock when sampling began
        std::uint64_t clock_ns = 0;  // as last read
        std::uint64_t read_ns = 0;   // when that was; 0: never
    };
    /// What is known of a thread's CPU time: what was read, and what it can be at most, since a clock is read now and
    /// then only and goes with its thread.
    struct Known {
        Thread thread;
        std::uint64_t cpu_ns = 0, most_cpu_ns = 0;
        std::uint64_t samples = 0, noted = 0;  // periods
    };

    ThreadId add(std::uint32_t tid, std::string_view name);
    Living& living_of(std::uint32_t tid);
    std::optional<std::uint64_t> over(std::uint32_t tid) const;
    void forget_over();
    void identify(std::uint32_t tid, Living& living);
    void set_cpu(const Living& living);
    void may_have_run_until(std::uint64_t time_ns, const Living& living);
    void read(std::uint32_t tid, Living& living);
    std::uint64_t cpu_of(const Known& known) const;

    ProfileSink& sink_;
    const CpuClocks& clocks_;
    const std::uint64_t period_ns_;
    std::unordered_map<std::uint32_t, Living> living_;  // by tid
    std::vector<Known> threads_;                        // by ThreadId
    // Those for which the kernel told the end, in this round and the one before: what they say themselves comes later.
    struct Ended {
        ThreadId id = none;
        std::uint64_t base_ns = 0;
    };
    std::unordered_map<std::uint32_t, Ended> ended_, ended_before_;
    // By tid, of those that ended in the last second or two: their CPU clocks, as far as they are counted. /proc lists
    // a thread for a while after it has told its end, and the kernel has.
    std::unordered_map<std::uint32_t, std::uint64_t> over_, over_before_;
    std::uint64_t over_since_ns_ = 0;
    std::map<std::string, ThreadId, std::less<>> unsampled_;
    std::vector<std::uint32_t> to_visit_;  // tids, whose clocks are read in turn
    std::uint64_t told_ = 0;
    ThreadId unknown_ = none;
};

}  // namespace flameprobe
