#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/host_queue.hpp"
#include "capture/event_source.hpp"
#include "session/command_queue.hpp"

namespace flameprobe {

/// New threads that wait until the collector has opened their events, so that their first code is sampled too. That
/// takes some 50 us of CPU time. Where it would be more than a twentieth of their lives, only some wait, drawn at
/// random: see NewThreadShare.
class NewThreads {
public:
    /// A new thread calls this before its own code: wakes the collector and waits, for 20 ms at most.
    /// Async-signal-safe.
    void announce(std::uint32_t tid, CommandQueue& collector) noexcept;
    /// Whether a new thread is one of those that wait.
    std::optional<NewThreadShare> draw(std::uint32_t tid) noexcept;
    /// Whether threads are to announce themselves.
    bool wanted() const noexcept { return wanted_.load(std::memory_order_acquire); }
    /// `period_ns`: of samples; 0 if NewThreadShare::reach_us may not be used.
    void want(bool wanted, std::uint64_t period_ns = 0) noexcept;

    /// Collector only: calls meet(tid, share) for each thread that waits, and lets it go on.
    template <class Meet>
    void meet(const Meet& meet) {
        bool any = false;
        waiting_.take([&](const Waiting& thread) {
            meet(thread.tid, thread.share);
            any = true;
        });
        if (any) wake();
    }
    /// A thread that ends has used so much. Decides how many wait.
    void lived(std::uint64_t cpu_ns) noexcept;

private:
    struct Waiting {
        std::uint32_t tid = 0;
        NewThreadShare share;
    };
    void wake() noexcept;

    HostQueue<Waiting, 1024> waiting_;
    std::atomic<bool> wanted_{false};
    std::atomic<std::uint32_t> born_{0}, met_{0}, sleeping_{0};
    std::atomic<NewThreadShare> share_{NewThreadShare{}};
    std::uint64_t period_ns_ = 0;
    std::atomic<std::uint64_t> ended_{0}, usual_ns_{0};  // threads, and what they had used lately
};

}  // namespace flameprobe
