// What the CPU's counter says, as CLOCK_MONOTONIC.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"
#include "cpu/instructions.hpp"

namespace flameprobe {

/// By pairs of readings, taken now and then. One thread only.
class CounterClock {
public:
    struct Pair {
        std::uint64_t ticks = 0, ns = 0;
    };

    /// Both clocks at once: the counter stands between two readings of the other, of which the closest two of a few
    /// count.
    static Pair read() noexcept {
        Pair best;
        for (std::uint64_t least = ~std::uint64_t{0}, tries = 0; tries < 4; ++tries) {
            const std::uint64_t before = monotonic_ns(), ticks = cpu::counter(), after = monotonic_ns();
            if (after - before >= least) continue;
            least = after - before;
            best = {ticks, before + least / 2};
        }
        return best;
    }

    /// A pair that is later than all before. False: between it and the last one the counter went at another rate than
    /// ever since, so it is no clock.
    bool add(const Pair& pair) {
        constexpr std::uint64_t least_ns = 50 * ns_per_ms;  // by which the rate is known to 20 ppm
        constexpr double most_off = 1e-3;
        if (count_ != 0) {
            const Pair& last = at(count_ - 1);
            if (pair.ns < last.ns + ns_per_ms || pair.ticks <= last.ticks) return pair.ticks >= last.ticks;
            const double rate = rate_between(last, pair), usual = tick_ns();
            const bool steady = usual == 0 || pair.ns < last.ns + least_ns || last.ns < first_.ns + least_ns ||
                                (rate < usual * (1 + most_off) && rate > usual * (1 - most_off));
            if (!steady) return false;
        } else {
            first_ = pair;
        }
        pairs_[next_++ % most] = pair;
        count_ = std::min(count_ + 1, most);
        return true;
    }
    /// Whether its rate is known.
    bool ready() const { return count_ >= 2; }
    /// Nanoseconds of a tick, over all the time; 0: not known yet.
    double tick_ns() const { return count_ < 2 ? 0 : rate_between(first_, at(count_ - 1)); }
    /// By the two pairs around it, or else the nearest ones. To be called when ready().
    std::uint64_t ns(std::uint64_t ticks) const {
        std::size_t later = 1;
        while (later + 1 < count_ && at(count_ - 1 - later).ticks > ticks) ++later;
        const Pair &from = at(count_ - 1 - later), &to = at(count_ - later);
        const double after =
            static_cast<double>(static_cast<std::int64_t>(ticks - from.ticks)) * rate_between(from, to);
        return from.ns + static_cast<std::uint64_t>(static_cast<std::int64_t>(after));
    }

private:
    static constexpr std::size_t most = 32;
    static double rate_between(const Pair& from, const Pair& to) {
        return static_cast<double>(to.ns - from.ns) / static_cast<double>(to.ticks - from.ticks);
    }
    /// 0 is the oldest that is kept.
    const Pair& at(std::size_t index) const { return pairs_[(next_ - count_ + index) % most]; }

    Pair first_;
    std::array<Pair, most> pairs_{};
    std::size_t next_ = 0, count_ = 0;
};

}  // namespace flameprobe
