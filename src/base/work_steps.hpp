// Progress of long work, for who waits for it: told by the work itself, so that what is stuck tells nothing.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.hpp"

namespace flameprobe {

/// What is called after a step, ten times a second at most. It may be called by several threads, one after the other.
inline constinit std::atomic<void (*)()> after_work_step{nullptr};

/// To be called after each step of work that can be long: a block read, an address named, a piece written. Thread-safe.
inline void work_step_done() {
    static constinit std::atomic<std::uint64_t> next_ns{0};
    auto* const tell = after_work_step.load(std::memory_order_relaxed);
    if (tell == nullptr) return;
    const std::uint64_t now = monotonic_ns();
    std::uint64_t due = next_ns.load(std::memory_order_relaxed);
    if (now >= due && next_ns.compare_exchange_strong(due, now + 100 * ns_per_ms)) tell();
}

}  // namespace flameprobe
