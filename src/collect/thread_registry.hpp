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

#include "base/clock.hpp"
#include "base/host_process.hpp"
#include "base/proc.hpp"
#include "capture/timer_slots.hpp"
#include "profile/sink.hpp"

namespace flameprobe {

// The clocks that the accounts of CPU time read: the kernel's, or a test's.

/// The collector thread only.
class CpuClocks {
public:
    virtual ~CpuClocks() = default;
    virtual std::uint64_t time_ns() const { return monotonic_ns(); }
    /// Of all the host's threads; 0: it has ended.
    virtual std::uint64_t process_ns() const { return host_cpu_ns(); }
    /// 0: the thread has ended.
    virtual std::uint64_t thread_ns(std::uint32_t tid) const { return host_thread_cpu_ns(tid); }
    /// Of the collector, and whether the process's clock includes it.
    virtual std::uint64_t own_ns() const { return collector_cpu_ns(); }
    virtual bool own_is_in_process() const { return is_in_host_process(); }
    /// By which the clock of a running thread may be behind. Read from outside of the thread group, it was set at the
    /// last scheduler tick (proc(5), schedstat).
    virtual std::uint64_t behind_ns() const { return is_in_host_process() ? 0 : tick_ns(); }
    /// Of the host, without the collector.
    virtual std::vector<std::uint32_t> threads() const { return list_other_threads(); }
};

/// Never destroyed: the collector may still use it while the host's exit destroys statics.
inline const CpuClocks& kernel_clocks() {
    static const auto& clocks = *new CpuClocks;
    return clocks;
}

/// The collector thread only.
class ThreadRegistry {
public:
    /// By tid, of the threads that live: their CPU clocks in nanoseconds, as last read.
    using Readings = std::unordered_map<std::uint32_t, std::uint64_t>;

    ThreadRegistry(ProfileSink& sink, const CpuClocks& clocks) : sink_(sink), clocks_(clocks) {}

    /// The thread that has this tid now; a tid that was reused is another thread.
    ThreadId find(std::uint32_t tid);
    /// The same, or the one that had it and has just ended: for what is read later than the record of its end.
    ThreadId find_late(std::uint32_t tid);
    /// As find() if it has an id already, else nullopt.
    std::optional<ThreadId> known(std::uint32_t tid) const;
    /// A pseudo-thread with tid 0, for CPU time of which only the process is known.
    ThreadId unknown() { return unsampled("[thread not known]"); }
    /// The kernel gives a new thread the name of the one that made it, `parent`; 0: not known.
    void started(std::uint32_t tid, std::uint32_t parent = 0);
    /// From now on what shown() gives has this name. The account stays one.
    void renamed(std::uint32_t tid, std::string_view name);
    void ended(std::uint32_t tid);
    /// The thread reported its CPU clock at its end (EndedThreads). `cpu_ns` becomes the part of it that counts, and
    /// goes into the thread's account; nullopt if it has none, since it was not sampled.
    std::optional<ThreadId> end_reported(std::uint32_t tid, std::uint64_t& cpu_ns);
    /// For threads with this name that ended without being sampled, and for all that come when there are 16,384: one
    /// account for all of them, with tid 0. Beyond 1,024 names there is one for the rest.
    ThreadId unsampled(std::string_view name);
    bool is_shared(ThreadId thread) const { return threads_[thread].thread.tid == 0; }
    /// Threads that were sampled and have no account of their own.
    std::uint64_t without_entry() const { return without_entry_; }
    void used(ThreadId thread, std::uint64_t cpu_ns) { threads_[thread].cpu_ns += cpu_ns; }
    std::uint64_t behind_ns() const { return clocks_.behind_ns(); }
    /// A thread that lives and has used CPU time, as last read.
    struct Running {
        std::uint32_t tid;
        std::uint64_t cpu_ns;
        std::uint64_t missing_ns;  // of that, without a sample and a note
        bool has_id, is_main;
    };
    std::vector<Running> running() const;
    /// Of a thread that lives; empty if it does not.
    std::string name_of(std::uint32_t tid) const;
    std::string account_name(std::uint32_t tid) const { return name_or_usual(name_of(tid)); }
    /// The number under which the profile has what the thread does now: its own, or that of its present name's entry.
    ThreadId shown(ThreadId thread) const { return threads_[thread].shown; }
    /// An earlier profile's thread, under the name that it had there: one that lives still, else an entry of its own.
    ThreadId same_thread(const ThreadRegistry& before, ThreadId thread);
    /// A sample stands for `weight`.
    void count(ThreadId thread, std::uint64_t weight) {
        threads_[thread].sampled += weight;
        accounted_ += weight;
    }
    /// A note in the profile stands for it instead of samples.
    void count_noted(ThreadId thread, std::uint64_t weight) {
        threads_[thread].noted += weight;
        accounted_ += weight;
    }
    /// What samples and notes stand for: of all threads, and of one.
    std::uint64_t accounted() const { return accounted_; }
    std::uint64_t accounted(ThreadId thread) const { return threads_[thread].sampled + threads_[thread].noted; }
    void sampled_at(ThreadId thread, StackId stack) { threads_[thread].last = stack; }
    /// The stack of the thread's last sample; 0 if there is none.
    StackId last_stack(ThreadId thread) const { return threads_[thread].last; }

    /// CPU time from now on counts, of all threads that run now: for a start in the middle of the host's life.
    void resume();
    /// CPU time counts from where another account of the same run left off.
    void resume_from(const Readings& readings);
    /// Reads the CPU clocks: of the threads that were sampled since the last call, and of some others in turn.
    void read_clocks();
    /// Reads those of all living threads, also of threads without samples and records.
    void read_all_clocks();
    Readings readings() const;

    std::uint64_t cpu_ns() const;
    std::vector<ThreadAccount> accounts() const;
    std::size_t count_accounts() const { return threads_.size(); }
    std::size_t memory() const;  // bytes, estimated

private:
    static constexpr ThreadId none = ~ThreadId{0};
    /// Of a thread that lives.
    struct Living {
        ThreadId id = none;          // none until it has a sample or a note
        std::string name{};          // as the kernel told it; empty: not known
        bool ran = true;             // was sampled since its clock was read
        std::uint64_t base_ns = 0;   // its CPU clock when sampling began
        std::uint64_t clock_ns = 0;  // as last read
    };
    struct Known {
        Thread thread;
        ThreadId shown = none;      // itself, or its present name's entry
        bool is_name_only = false;  // an entry for a later name, without an account
        std::uint32_t later_names = 0;
        std::uint64_t cpu_ns = 0;              // as it was last read
        bool ended_without_report = false;     // since then it may have used more
        std::uint64_t sampled = 0, noted = 0;  // see count()
        StackId last = 0;
    };

    ThreadId add(std::uint32_t tid, std::string_view name);
    ThreadId add_or_share(std::uint32_t tid, std::string_view name);
    ThreadId own_entry(const Living& living) const {
        return living.id == none || is_shared(living.id) ? none : living.id;
    }
    ThreadId entry_of_name(ThreadId id, std::string_view name);
    bool lives(ThreadId thread) const;
    Living& living_of(std::uint32_t tid);
    void forget_old_ends();
    void identify(std::uint32_t tid, Living& living);
    std::string name_or_usual(std::string name) const;
    void set_cpu(const Living& living);
    void read(std::uint32_t tid, Living& living);

    ProfileSink& sink_;
    const CpuClocks& clocks_;
    std::unordered_map<std::uint32_t, Living> living_;  // by tid
    std::vector<Known> threads_;                        // by ThreadId
    /// Of a thread that ended lately. Its own report may come after the kernel's record, and /proc lists it for a
    /// while.
    struct Ended {
        ThreadId id = none;  // none too once it has reported
        std::uint64_t base_ns = 0, clock_ns = 0, time_ns = 0;
        ThreadId entry = none;  // for what it did before its end
        std::string name{};
    };
    std::unordered_map<std::uint32_t, Ended> ended_;  // by tid
    std::map<std::string, ThreadId, std::less<>> unsampled_;
    std::map<std::pair<ThreadId, std::string>, ThreadId> later_names_;
    std::vector<std::uint32_t> to_visit_;  // tids, whose clocks are read in turn
    std::uint64_t accounted_ = 0, without_entry_ = 0;
};

}  // namespace flameprobe
