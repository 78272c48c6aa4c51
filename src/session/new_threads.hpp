#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/host_queue.hpp"
#include "capture/event_source.hpp"
#include "session/command_queue.hpp"

namespace flameprobe {

/// New threads that wait until the collector has opened their events, so that their first code is sampled too. That
/// takes some 100 us of CPU time of both. Where it would be more than a twentieth of their lives, only some wait, drawn
/// at random: see NewThreadShare.
class NewThreads {
public:
    /// A new thread calls this before its own code: wakes the collector and waits. Async-signal-safe.
    void announce(std::uint32_t tid, CommandQueue& collector) noexcept;
    /// What decides whether a new thread has an event, and by now: the share for which it is chosen, if it is.
    std::uint64_t draw(std::uint32_t tid) noexcept;
    std::optional<NewThreadShare> choose(std::uint64_t drawn) const noexcept;
    /// How long it waits at most.
    std::uint64_t patience_ns() const noexcept;
    /// Whether threads are to announce themselves.
    bool wanted() const noexcept { return wanted_.load(std::memory_order_acquire); }
    /// `period_ns`: of samples; 0 if NewThreadShare::reach_us may not be used.
    void want(bool wanted, std::uint64_t period_ns = 0) noexcept;

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
    /// A thread that ends has used so much. Decides how many wait.
    void lived(std::uint64_t cpu_ns) noexcept;

private:
    struct Waiting {
        std::uint32_t tid = 0;
        NewThreadShare share;                   // when it was born
        std::uint64_t drawn = 0, until_ns = 0;  // it waits no longer
        char name[16] = {};                     // comm
    };
    static std::string_view name_of(const Waiting& thread) noexcept;
    static NewThreadShare stricter(NewThreadShare one, NewThreadShare other) noexcept;
    void wake() noexcept;

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
