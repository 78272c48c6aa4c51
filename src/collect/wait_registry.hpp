// What each thread does between its switch records: runs, waits, or was preempted; and what its waits weigh. Plain
// bookkeeping: collect/off_cpu reads stacks and writes samples.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/record.hpp"
#include "collect/read_waits.hpp"
#include "profile/model.hpp"

namespace flameprobe {

/// Compares a thread's time by its switch records with what the scheduler itself counts (schedstat, proc(5)).
/// Of one thread. They differ, since the thread has its CPU some microseconds before the record of the switch, and is
/// woken some time before it gets a CPU.
class ScheduleAccount {
public:
    void ran(std::uint64_t ns) {
        ran_.ns += ns;
        ++ran_.times;
    }
    void preempted(std::uint64_t ns) { ran_.preempted_ns += ns; }
    void records_lost() {
        first_.reset();
        last_.reset();
        reading_.reset();
    }

    /// The thread was born with the first record: its account began with nothing.
    void born() { last_ = Reading{}; }

    bool wants_reading(std::uint64_t now_ns) const {
        constexpr std::uint64_t every_times = 100, every_ns = 250'000'000;
        const std::uint64_t times = ran_.times - at_last_.times;
        if (reading_ || times == 0) return false;
        return !last_ || times >= every_times || now_ns >= last_->until_ns + every_ns;
    }
    /// Time on CPUs and in run queues since the thread began, as read by `until_ns`.
    void read(std::uint64_t cpu_ns, std::uint64_t delay_ns, std::uint64_t until_ns) {
        reading_ = Reading{cpu_ns, delay_ns, until_ns};
    }
    /// To be called when the thread leaves its state, at `time_ns`. If it was in it while its account was read, the
    /// account and the records cover the same time: that in run queues in any state, that on CPUs if it was `off` them.
    void compare(bool off, std::uint64_t time_ns) {
        const auto reading = std::exchange(reading_, std::nullopt);
        if (!reading || reading->until_ns > time_ns) return;
        if (off) compare_clock(*reading);
        if (last_) {
            const std::uint64_t delay = less(reading->delay_ns, last_->delay_ns);
            late_ns_ += less(delay, ran_.preempted_ns - at_last_.preempted_ns);
        }
        at_last_ = ran_;
        last_ = reading;
    }

    /// A time off the CPU that lasted `lasted_ns` by the records, less the part that the CPU clock counts as running.
    std::uint64_t without_overlap(std::uint64_t lasted_ns) const {
        if (overlap_ns_ < 0) return lasted_ns + static_cast<std::uint64_t>(-overlap_ns_);
        return less(lasted_ns, static_cast<std::uint64_t>(overlap_ns_));
    }
    /// Time in the thread's waits when it was woken already and had no CPU yet: to be subtracted from them.
    std::uint64_t late_ns() const { return late_ns_; }
    void took_off_late(std::uint64_t ns) { late_ns_ -= ns; }

private:
    static std::uint64_t less(std::uint64_t from, std::uint64_t ns) { return from - std::min(from, ns); }

    struct Records {
        std::uint64_t ns = 0, times = 0, preempted_ns = 0;
    };
    struct Reading {
        std::uint64_t cpu_ns = 0, delay_ns = 0, until_ns = 0;
    };

    void compare_clock(const Reading& reading) {
        constexpr std::int64_t most_ns = 30'000;
        if (!first_) {
            at_first_ = ran_;
            first_ = reading;
            return;
        }
        const auto clock = static_cast<std::int64_t>(reading.cpu_ns - first_->cpu_ns);
        const auto records = static_cast<std::int64_t>(ran_.ns - at_first_.ns);
        const auto times = static_cast<std::int64_t>(ran_.times - at_first_.times);
        overlap_ns_ = std::clamp((clock - records) / times, -most_ns, most_ns);
    }

    Records ran_;
    std::optional<Reading> first_, last_;
    Records at_first_, at_last_;      // `ran_` when first_ and last_ were read
    std::optional<Reading> reading_;  // in the state that it is in
    std::int64_t overlap_ns_ = 0;     // per switch
    std::uint64_t late_ns_ = 0;
};

/// The time of every wait is exact; its stack is a sample. A wait of d ns that a look met, with the probability p
/// (LookOdds), stands for d / p, and what a thread's waits stand for is scaled to its exact waiting time.
///
/// The collector thread only.
class WaitRegistry {
public:
    enum class Kind : std::uint8_t {
        waited,     // blocked, in the wait that was read
        unsampled,  // blocked, in waits that no look met
        preempted,  // could have run; `stack` is the one given to set_cpu_stack()
        idle,       // blocked, in a thread that never woke
        lost,       // records were lost: whether it waited or ran is not known
    };
    struct Span {
        Kind kind = Kind::waited;
        std::uint32_t tid = 0;
        std::uint64_t begin_ns = 0;  // CLOCK_MONOTONIC
        std::uint64_t ns = 0;
        StackId stack = 0;
        std::uint64_t hits = 0;  // 1 for the first span of a wait that was read
        WaitReason reason = 0;
        double waits = 0;                   // for how many this one stands
        std::shared_ptr<HeldLooks> held{};  // WaitPlace
        std::uint64_t lasted_ns = 0;        // the wait itself, so far; 0: not known
    };
    using Emit = std::function<void(const Span&)>;

    /// Shorter waits than `least_ns` do not count.
    WaitRegistry(std::uint64_t least_ns, std::uint64_t mean_pause_ns, Emit emit);

    /// Begins now. The threads `tids` exist; whether they run or wait is found by the first look at them.
    void begin(std::uint64_t now_ns, const std::vector<std::uint32_t>& tids);
    void switched(const ThreadSwitched& record);
    void started(std::uint32_t tid, std::uint64_t time_ns);
    void ended(std::uint32_t tid, std::uint64_t time_ns);
    /// Records were lost, of threads unknown.
    void lost(std::uint64_t time_ns);

    struct Wait {
        std::uint32_t tid = 0;
        std::uint64_t number = 0;
    };
    /// Waits in progress whose stack is not known yet; some of them may be over or read: see is_unread().
    void unread(std::vector<Wait>& out);
    /// Of the waits in progress whose lock's holder was found the `most` that were given longest ago.
    void held(std::size_t most, std::vector<HeldLooks*>& out);
    /// A thread that began some time ago without a record of its own may be blocked since before records of it were
    /// kept: the next look at it tells.
    void doubt_starts(std::uint64_t now_ns);
    bool is_unread(const Wait& wait);
    /// `what` was read by `until_ns`. It is right if the records that follow show that the wait lasted until then.
    void read(const Wait& wait, WaitPlace what, std::uint64_t until_ns);
    /// Threads whose account by the scheduler is to be read now: at most so many, all in turn.
    void without_account(std::uint64_t now_ns, std::size_t most, std::vector<std::uint32_t>& tids);
    /// The account was read by `until_ns`. It is used if the thread was then still as the records had told.
    void account_read(std::uint32_t tid, std::uint64_t cpu_ns, std::uint64_t delay_ns, std::uint64_t until_ns);
    /// The thread does not wait, as begin() or lost() assumed.
    void runs(const Wait& wait);
    /// The stack of this wait cannot be read.
    void give_up(const Wait& wait) {
        if (Thread* const thread = thread_of(wait)) thread->hopeless = true;
    }
    /// The stack of the thread's last CPU sample, on which its preemption is put from now on.
    void set_cpu_stack(std::uint32_t tid, StackId stack);

    LookOdds& looks() { return looks_; }

    /// Emits what is certain by now. `now_ns`: records before it have been drained.
    void settle(std::uint64_t now_ns);
    /// Emits everything up to `now_ns`, and forgets all threads.
    void settle_all(std::uint64_t now_ns);

    struct Totals {
        std::uint64_t waits = 0, waits_read = 0, waits_raced = 0, waits_hidden = 0, preemptions = 0, records = 0;
        std::uint64_t blocked_ns = 0, hidden_ns = 0, preempted_ns = 0, lost_ns = 0;
    };
    const Totals& totals() const { return totals_; }
    std::size_t memory() const;

private:
    enum class State : std::uint8_t { unknown, running, waiting, preempted, ended };
    struct Thread {
        State state = State::unknown;
        bool assumed = false;   // the state is assumed, no record has shown it
        bool doubtful = false;  // assumed since records were lost
        bool has_stack = false;
        bool hopeless = false;
        bool only_started = false;  // no record but that of its start
        std::uint64_t since_ns = 0;
        std::uint64_t number = 0;      // changes with every record
        std::uint64_t counted_ns = 0;  // part of the wait in progress that is counted already
        std::uint64_t read_until_ns = 0;
        std::uint64_t wakes = 0;
        ScheduleAccount account;
        WaitPlace what;
        StackId last_cpu_stack = 0;
        // Since it was last settled:
        std::uint64_t window_begin_ns = 0;
        std::uint64_t blocked_ns = 0;
        std::uint64_t preempted_ns = 0, preempted_since_ns = 0;
        StackId preempted_on = 0;
        ReadWaits read;
    };

    static std::uint64_t since(std::uint64_t now, std::uint64_t then) { return now > then ? now - then : 0; }
    Thread* thread_of(const Wait& wait);  // null: the wait is over
    void waits(std::uint32_t tid, Thread& thread);
    void add_to(std::vector<Wait>& waits, const Wait& wait);
    void leave_state(std::uint32_t tid, Thread& thread, std::uint64_t time_ns);
    void take_off_late(Thread& thread, bool all);
    void end_wait(Thread& thread, std::uint64_t lasted);
    static void add_estimate(Thread& thread, double ns, double waits, std::uint64_t lasted_ns);
    void count_wait_in_progress(Thread& thread, std::uint64_t now_ns);
    void settle_waits(std::uint32_t tid, Thread& thread, bool all);
    void settle_preempted(std::uint32_t tid, Thread& thread);
    void finish(std::uint32_t tid, Thread& thread, std::uint64_t now_ns);

    const std::uint64_t least_ns_;
    const Emit emit_;
    LookOdds looks_;
    std::unordered_map<std::uint32_t, Thread> threads_;
    // A look costs what has happened since the last one, not what there is of threads. Those whose wait is over are
    // left in these until they are met.
    std::vector<Wait> unread_, started_;
    std::size_t surely_unread_ = 0;  // when unread_ was last freed of the others
    std::deque<Wait> held_;          // in the order in which they are to be looked at again
    std::vector<std::uint32_t> to_account_;
    std::uint64_t last_number_ = 0;
    Totals totals_;
};

}  // namespace flameprobe
