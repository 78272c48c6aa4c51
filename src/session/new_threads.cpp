#include "session/new_threads.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <bit>
#include <climits>

#include "base/clock.hpp"
#include "base/hash.hpp"
#include "capture/handler/raw_system_call.hpp"

namespace flameprobe {

std::optional<NewThreadShare> NewThreads::draw(std::uint32_t tid) noexcept {
    const std::uint32_t born = born_.fetch_add(1, std::memory_order_relaxed);
    const NewThreadShare share = share_.load(std::memory_order_relaxed);
    const std::uint64_t random = splitmix64(hash_pair(born, tid));
    const std::uint64_t sampled_at_ns = (random >> 32) * period_ns_ >> 32;
    if (share.reach_us != 0 && sampled_at_ns >= share.reach_ns()) return std::nullopt;
    if (static_cast<std::uint32_t>(random) % share.stands_for != 0) return std::nullopt;
    return share;
}

// The word that is waited for is one for all: in their cells threads would be woken one by one.
void NewThreads::announce(std::uint32_t tid, CommandQueue& collector) noexcept {
    constexpr std::uint64_t patience_ns = 20 * ns_per_ms;
    const std::optional<NewThreadShare> share = draw(tid);
    if (!share) return;
    std::uint32_t met = met_.load(std::memory_order_acquire);
    const auto number = waiting_.report({tid, *share});
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

void NewThreads::want(bool wanted, std::uint64_t period_ns) noexcept {
    period_ns_ = period_ns;
    wanted_.store(wanted, std::memory_order_release);
}

// Of lives that end by chance 2 % are four times as long as usual.
void NewThreads::lived(std::uint64_t cpu_ns) noexcept {
    constexpr std::uint64_t enough = 16;
    constexpr double lives = 4, met_in_ns = 50'000, most_of_life = 1.0 / 20, most_for_one = 32;
    const std::uint64_t ended = ended_.fetch_add(1, std::memory_order_relaxed) + 1, of = std::min(ended, enough);
    const std::uint64_t usual_ns = (usual_ns_.load(std::memory_order_relaxed) * (of - 1) + cpu_ns) / of;
    usual_ns_.store(usual_ns, std::memory_order_relaxed);  // of two that end at once one may not count
    if (ended < enough) return;
    const double usual = std::max(static_cast<double>(usual_ns), 1e4), period = static_cast<double>(period_ns_);
    const bool reaches = period_ns_ != 0 && lives * usual < period / 2;
    const double cost = met_in_ns / usual / most_of_life * (reaches ? lives * usual / period : 1);
    share_.store({.reach_us = reaches ? static_cast<std::uint32_t>(lives * usual / 1000) : 0,
                  .stands_for = std::bit_ceil(static_cast<std::uint32_t>(std::clamp(cost, 1.0, most_for_one)))},
                 std::memory_order_relaxed);
}

}  // namespace flameprobe
