// Compares a thread's time by its switch records with what the scheduler itself counts (schedstat, proc(5)).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace flameprobe {

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

    /// A time off the CPU that lasted `lasted_ns` by the records, less the part that the CPU clock counts as running:
    /// what is known of this thread, else `usual_ns`.
    std::uint64_t without_overlap(std::uint64_t lasted_ns, std::uint64_t usual_ns) const {
        if (!overlap_ns_) return less(lasted_ns, usual_ns);
        if (*overlap_ns_ < 0) return lasted_ns + static_cast<std::uint64_t>(-*overlap_ns_);
        return less(lasted_ns, static_cast<std::uint64_t>(*overlap_ns_));
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
    Records at_first_, at_last_;              // `ran_` when first_ and last_ were read
    std::optional<Reading> reading_;          // in the state that it is in
    std::optional<std::int64_t> overlap_ns_;  // per switch
    std::uint64_t late_ns_ = 0;
};

}  // namespace flameprobe
