#pragma once

#include <atomic>
#include <cstdint>

#include "base/host_queue.hpp"
#include "session/command_queue.hpp"

namespace flameprobe {

/// New threads that wait until the collector has opened their events, so that their first code is sampled too. Where
/// thousands are born a second only one in several waits, drawn at random: it stands for the others, which the
/// collector finds later.
class NewThreads {
public:
    /// A new thread calls this before its own code: wakes the collector and waits, for 2 ms at most. Async-signal-safe.
    void announce(std::uint32_t tid, CommandQueue& collector) noexcept;
    /// Whether threads are to announce themselves.
    bool wanted() const noexcept { return wanted_.load(std::memory_order_relaxed); }
    void want(bool wanted) noexcept { wanted_.store(wanted, std::memory_order_relaxed); }

    /// Collector only: calls meet(tid, stands_for) for each thread that waits, and lets it go on.
    template <class Meet>
    void meet(const Meet& meet) {
        bool any = false;
        waiting_.take([&](const Waiting& thread) {
            meet(thread.tid, thread.stands_for);
            any = true;
        });
        if (any) wake();
    }
    /// Collector only, from time to time: decides how many threads wait.
    void count(std::uint64_t now_ns) noexcept;

private:
    struct Waiting {
        std::uint32_t tid = 0, stands_for = 1;
    };
    void wake() noexcept;

    HostQueue<Waiting, 1024> waiting_;
    std::atomic<bool> wanted_{false};
    std::atomic<std::uint32_t> born_{0}, met_{0}, sleeping_{0};
    std::atomic<std::uint32_t> stands_for_{1};
    std::uint64_t counted_ns_ = 0;
    std::uint32_t counted_ = 0;
};

}  // namespace flameprobe
