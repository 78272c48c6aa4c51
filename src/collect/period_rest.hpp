#pragma once

#include <cstdint>

#include "base/hash.hpp"

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

}  // namespace flameprobe
