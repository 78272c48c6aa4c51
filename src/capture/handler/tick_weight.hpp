// What a tick of the kernel stands for that hit a thread with a CPU timer.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/hash.hpp"

namespace flameprobe::handler {

/// How often a timer expires: at each tick that hits its thread. An expiry after a whole period would be noticed at the
/// next tick that hits the thread, which may be several periods later for one that often sleeps, and never where it
/// ends before: what threads do first would be seen too seldom. Ticks hit the first microsecond of a life as often as
/// the last.
inline constexpr std::uint64_t timer_interval_ns = 1000;

/// How much CPU time each tick that hits one thread stands for. Async-signal-safe.
class TickWeight {
public:
    /// The thread has used `elapsed_ns` since the last tick that hit it. Each stands for one tick's time, whatever came
    /// before: else what a brief life does first would weigh less or more than the rest. Only where the clock shows
    /// more than ticks have stood for, beyond chance, as after late ticks, that is made up for, in parts; and where it
    /// shows less, as in a virtual machine whose clock leaves out what the host took.
    std::uint64_t nanoseconds(std::uint64_t elapsed_ns, std::uint64_t tick_ns) noexcept {
        const auto tick = static_cast<std::int64_t>(tick_ns);
        if (++ticks_ >= (root_ + 1) * (root_ + 1)) ++root_;
        behind_ns_ += static_cast<std::int64_t>(elapsed_ns) - tick;
        const std::int64_t less = -4 * tick, most = (4 + root_) * tick;
        const std::int64_t more = (behind_ns_ - std::clamp(behind_ns_, less, most)) / 4;
        const std::int64_t weight = std::max<std::int64_t>(tick + more, 0);
        behind_ns_ -= weight - tick;
        return static_cast<std::uint64_t>(weight);
    }

private:
    std::int64_t ticks_ = 0, root_ = 0;  // and its square root
    std::int64_t behind_ns_ = 0;         // of the clock, less what ticks have stood for
};

/// How many periods fall due in CPU time from `begin_ns` to `end_ns`: of each, one random moment.
inline std::uint64_t periods_due(std::uint64_t begin_ns, std::uint64_t end_ns, std::uint64_t period_ns,
                                 std::uint64_t seed) noexcept {
    std::uint64_t due = 0;
    for (std::uint64_t period = begin_ns / period_ns; period * period_ns < end_ns; ++period) {
        const std::uint64_t at = period * period_ns + splitmix64(seed ^ splitmix64(period)) % period_ns;
        due += at >= begin_ns && at < end_ns ? 1 : 0;
    }
    return due;
}

}  // namespace flameprobe::handler
