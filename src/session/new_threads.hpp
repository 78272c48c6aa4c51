#pragma once

#include <linux/futex.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <climits>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.hpp"
#include "base/deadline.hpp"
#include "base/hash.hpp"
#include "base/host_queue.hpp"
#include "capture/event_source.hpp"
#include "capture/handler/raw_system_call.hpp"
#include "session/command_queue.hpp"

namespace flameprobe {

/// New threads that wait until the collector has opened their events, so that their first code is sampled too. That
/// takes some 100 us of CPU time of both. Where it would be more than a twentieth of their lives, only some wait, drawn
/// at random: see NewThreadShare.
class NewThreads {
public:
    /// A new thread calls this before its own code: wakes the collector and waits. Async-signal-safe.
    /// The word that is waited for is one for all: in their cells threads would be woken one by one.
    void announce(std::uint32_t tid, CommandQueue& collector) noexcept {
        const std::uint64_t drawn = draw(tid);
        const std::optional<NewThreadShare> share = choose(drawn);
        if (!share) return;
        std::uint32_t met = met_.load(std::memory_order_acquire);
        const std::uint64_t end = monotonic_ns() + patience_ns();
        Waiting self{tid, *share, drawn, end};
        handler::system_call(SYS_prctl, PR_GET_NAME, self.name);
        const auto number = waiting_.report(self);
        if (!number) return;
        const auto mark = waiting_.mark(*number);
        collector.nudge();
        sleeping_.fetch_add(1, std::memory_order_seq_cst);
        while (mark.word->load(std::memory_order_acquire) == mark.unread) {
            const std::uint64_t now = monotonic_ns();
            if (now >= end) {
                late_.store(true, std::memory_order_relaxed);
                break;
            }
            const timespec limit = timespec_of(end - now);
            handler::system_call(SYS_futex, &met_, FUTEX_WAIT_PRIVATE, met, &limit);
            met = met_.load(std::memory_order_acquire);
        }
        sleeping_.fetch_sub(1, std::memory_order_relaxed);
    }
    /// draw(): a thread's random number. choose(): the share as it is now, if the number is chosen by it.
    std::uint64_t draw(std::uint32_t tid) noexcept {
        return splitmix64(hash_pair(born_.fetch_add(1, std::memory_order_relaxed), tid));
    }
    std::optional<NewThreadShare> choose(std::uint64_t drawn) const noexcept {
        const NewThreadShare share = share_.load(std::memory_order_relaxed);
        const std::uint64_t sampled_at_ns = (drawn >> 32) * period_ns_ >> 32;
        if (share.reach_us != 0 && sampled_at_ns >= share.reach_ns()) return std::nullopt;
        if (static_cast<std::uint32_t>(drawn) % share.stands_for != 0) return std::nullopt;
        return share;
    }
    /// How long a new thread waits at most. To map a ring the collector needs the lock of the address space. Where a
    /// hundred threads take turns on a CPU, each may hold that lock while it does not run.
    /// Once a thread has waited in vain, later ones wait 2 ms only, until the collector answers again: it may not run
    /// at all.
    std::uint64_t patience_ns() const noexcept { return (late_.load(std::memory_order_relaxed) ? 2 : 100) * ns_per_ms; }
    /// Whether threads are to announce themselves.
    bool wanted() const noexcept { return wanted_.load(std::memory_order_acquire); }
    /// `period_ns`: of samples; 0 if NewThreadShare::reach_us may not be used.
    void want(bool wanted, std::uint64_t period_ns = 0) noexcept {
        period_ns_ = period_ns;
        wanted_.store(wanted, std::memory_order_release);
    }

    /// Collector only: calls meet(NewThread) for each thread that waits, and lets it go on.
    template <class Meet>
    void meet(const Meet& meet) {
        bool any = false;
        waiting_.take([&](const Waiting& thread) {
            any = true;
            const auto share = choose(thread.drawn);
            if (share) meet(NewThread{thread.tid, stricter(*share, thread.share), name_of(thread)});
        });
        if (any) wake();
    }
    /// A thread has ended that has used `cpu_ns`. Decides which new threads wait: by the mean of some 16 lives, and the
    /// longest of the last 32 to 64. About one thread in fifty outlives these, and is sampled all the same, later.
    /// Two threads that end at once may count as one.
    void lived(std::uint64_t cpu_ns) noexcept {
        constexpr std::uint64_t enough = 16, lately = 32;
        constexpr double met_in_ns = 100'000, most_of_life = 1.0 / 20, most_for_one = 32;
        const std::uint64_t ended = ended_.fetch_add(1, std::memory_order_relaxed) + 1, of = std::min(ended, enough);
        const std::uint64_t usual_ns = (usual_ns_.load(std::memory_order_relaxed) * (of - 1) + cpu_ns) / of;
        usual_ns_.store(usual_ns, std::memory_order_relaxed);
        const std::uint64_t longest_ns = std::max(longest_ns_.load(std::memory_order_relaxed), cpu_ns);
        const std::uint64_t reach_ns = std::max(longest_ns, longest_before_ns_.load(std::memory_order_relaxed));
        if (ended % lately == 0) longest_before_ns_.store(longest_ns, std::memory_order_relaxed);
        longest_ns_.store(ended % lately == 0 ? 0 : longest_ns, std::memory_order_relaxed);
        if (ended < enough) return;
        const double usual = std::max(static_cast<double>(usual_ns), 1e4), period = static_cast<double>(period_ns_);
        const bool reaches = period_ns_ != 0 && reach_ns < period_ns_ * 3 / 4;
        const double cost = met_in_ns / usual / most_of_life * (reaches ? static_cast<double>(reach_ns) / period : 1);
        share_.store({.reach_us = reaches ? static_cast<std::uint32_t>(reach_ns / 1000) + 1 : 0,
                      .stands_for = std::bit_ceil(static_cast<std::uint32_t>(std::clamp(cost, 1.0, most_for_one)))},
                     std::memory_order_relaxed);
    }

private:
    struct Waiting {
        std::uint32_t tid = 0;
        NewThreadShare share;                   // when it was born
        std::uint64_t drawn = 0, until_ns = 0;  // it waits no longer
        char name[16] = {};                     // comm
    };
    // One that does not wait any more may have another name.
    static std::string_view name_of(const Waiting& thread) noexcept {
        return monotonic_ns() < thread.until_ns
                   ? std::string_view(thread.name, ::strnlen(thread.name, sizeof thread.name))
                   : std::string_view();
    }
    // The share that chooses the threads which both choose. `stands_for` is a power of two, and a thread's number the
    // same for both: whom the larger one chooses, the smaller one does too.
    static NewThreadShare stricter(NewThreadShare one, NewThreadShare other) noexcept {
        const bool any = one.reach_us == 0 || other.reach_us == 0;
        return {.reach_us = any ? std::max(one.reach_us, other.reach_us) : std::min(one.reach_us, other.reach_us),
                .stands_for = std::max(one.stands_for, other.stands_for)};
    }
    void wake() noexcept {
        late_.store(false, std::memory_order_relaxed);
        met_.fetch_add(1, std::memory_order_seq_cst);
        if (sleeping_.load(std::memory_order_seq_cst) != 0)
            handler::system_call(SYS_futex, &met_, FUTEX_WAKE_PRIVATE, INT_MAX);
    }

    HostQueue<Waiting, 1024> waiting_;
    std::atomic<bool> wanted_{false};
    std::atomic<bool> late_{false};  // a thread waited in vain since the collector met some
    std::atomic<std::uint32_t> born_{0}, met_{0}, sleeping_{0};
    std::atomic<NewThreadShare> share_{NewThreadShare{}};
    std::uint64_t period_ns_ = 0;
    // What threads that ended had used: how many they are, and in the mean of the last ones; the most of one, among
    // those since their number was a multiple of `lately`, and among those before.
    std::atomic<std::uint64_t> ended_{0}, usual_ns_{0}, longest_ns_{0}, longest_before_ns_{0};
};

}  // namespace flameprobe
