#include "session/new_threads.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include <climits>

#include "base/clock.hpp"
#include "base/hash.hpp"
#include "capture/handler/raw_system_call.hpp"

namespace flameprobe {

// The word that is waited for is one for all: in their cells threads would be woken one by one.
void NewThreads::announce(std::uint32_t tid, CommandQueue& collector) noexcept {
    constexpr std::uint64_t patience_ns = 2 * ns_per_ms;
    const std::uint32_t born = born_.fetch_add(1, std::memory_order_relaxed);
    const std::uint32_t stands_for = stands_for_.load(std::memory_order_relaxed);
    if (splitmix64(hash_pair(born, tid)) % stands_for != 0) return;
    std::uint32_t met = met_.load(std::memory_order_acquire);
    const auto number = waiting_.report({tid, stands_for});
    if (!number) return;
    const auto mark = waiting_.mark(*number);
    collector.nudge();
    const std::uint64_t end = monotonic_ns() + patience_ns;
    sleeping_.fetch_add(1, std::memory_order_seq_cst);
    while (mark.word->load(std::memory_order_acquire) == mark.unread) {
        const std::uint64_t now = monotonic_ns();
        if (now >= end) break;
        const timespec limit{0, static_cast<long>(end - now)};
        handler::system_call(SYS_futex, &met_, FUTEX_WAIT_PRIVATE, met, &limit);
        met = met_.load(std::memory_order_acquire);
    }
    sleeping_.fetch_sub(1, std::memory_order_relaxed);
}

void NewThreads::wake() noexcept {
    met_.fetch_add(1, std::memory_order_seq_cst);
    if (sleeping_.load(std::memory_order_seq_cst) != 0)
        handler::system_call(SYS_futex, &met_, FUTEX_WAKE_PRIVATE, INT_MAX);
}

// Waiting takes a thread some 50 us: at most 5 % of the time of one that creates threads.
void NewThreads::count(std::uint64_t now_ns) noexcept {
    constexpr std::uint64_t every_ns = 50 * ns_per_ms, few = 2000, many = 16000;  // a second
    if (now_ns < counted_ns_ + every_ns) return;
    const std::uint32_t born = born_.load(std::memory_order_relaxed);
    const std::uint64_t rate = (born - counted_) * ns_per_second / (now_ns - counted_ns_);
    stands_for_.store(rate < few ? 1 : rate < many ? 8 : 32, std::memory_order_relaxed);
    counted_ = born;
    counted_ns_ = now_ns;
}

}  // namespace flameprobe
