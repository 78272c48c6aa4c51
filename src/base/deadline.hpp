// A limit on a wait, by the clock. A wait that counts its turns ends too early where a signal of the host ends each of
// them at once: timers of 20 kHz did so (EINTR).
#pragma once

#include <time.h>

#include <cstdint>

#include "base/clock.hpp"

namespace flameprobe {

/// By CLOCK_MONOTONIC, which nobody sets. Async-signal-safe; makes no system call where the vdso answers.
class Deadline {
public:
    explicit Deadline(std::uint64_t from_now_ns) noexcept : end_ns_(monotonic_ns() + from_now_ns) {}

    std::uint64_t left_ns() const noexcept {
        const std::uint64_t now = monotonic_ns();
        return end_ns_ > now ? end_ns_ - now : 0;
    }
    bool over() const noexcept { return left_ns() == 0; }

private:
    std::uint64_t end_ns_;
};

constexpr timespec timespec_of(std::uint64_t nanoseconds) noexcept {
    return {static_cast<time_t>(nanoseconds / ns_per_second), static_cast<long>(nanoseconds % ns_per_second)};
}

}  // namespace flameprobe
