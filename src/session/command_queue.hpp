// How host threads ask the collector for something and wait for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "session/core_api.h"

namespace flameprobe {

using Request = flameprobe_demand;

/// Those after which the collector ends.
inline constexpr std::uint32_t last_requests = request_finish | request_leave | request_retire | request_room;

class Task;

/// The collector's task waits at a debugger's breakpoint (task.cpp): the CPU time that this takes is no progress.
inline constinit std::atomic<bool> paused_at_breakpoint{false};

/// Lock-free; the host's side is async-signal-safe, since `_exit` may be called in a signal handler.
class CommandQueue {
public:
    /// Host side. Gives a ticket to wait for.
    std::uint32_t ask(Request request) noexcept;
    /// Waits until the ticket is answered. Gives up (false) when the collector has made no progress for
    /// `patience_ns` by the clock: then it is stuck on something that this very thread holds, such as an allocator's
    /// lock; and at once when it has made none since another wait gave up, or the collector's thread is gone. Progress
    /// is a step of its work (alive()), or CPU time of at most `patience_ns` since the last step.
    bool wait(std::uint32_t ticket, std::uint64_t patience_ns) noexcept;

    bool answered(std::uint32_t ticket) const noexcept;
    /// wait() without a system call: see host_is_filtered.
    bool spin(std::uint32_t ticket, std::uint64_t patience_ns) noexcept;

    /// Collector side: sleeps until there is a request or the time is over; gives the requests.
    std::uint32_t take(std::uint64_t nanoseconds) noexcept;
    void answer() noexcept;
    /// Sleeps until something is asked after `ticket`; gives the requests without taking them. nullopt: the time is
    /// over.
    std::optional<std::uint32_t> wait_for_more(std::uint32_t ticket, std::uint64_t nanoseconds) const noexcept;
    /// By the thread that does the collector's work, after each step of it: see wait().
    void alive() noexcept;
    void nudge() noexcept;
    void set_tid(std::uint32_t tid) noexcept { tid_.store(tid, std::memory_order_relaxed); }
    /// The collector is a task, whose end is known by Task::ended().
    void set_task(const Task* task) noexcept { task_.store(task, std::memory_order_relaxed); }

    bool has_task() const noexcept { return task_.load(std::memory_order_relaxed) != nullptr; }

    std::uint32_t tid() const noexcept { return tid_.load(std::memory_order_relaxed); }

private:
    bool collector_is_gone() const noexcept;
    std::uint64_t collector_cpu_ns() const noexcept;

    static constexpr std::uint32_t all_requests = ~std::uint32_t{0};
    static constexpr std::uint64_t one_ticket = std::uint64_t{1} << 32;
    static std::uint32_t ticket_of(std::uint64_t asked) noexcept { return static_cast<std::uint32_t>(asked >> 32); }

    // Ticket in the upper half, requests in the lower: the collector takes a request together with its ticket.
    // Otherwise the last request could be answered under an earlier ticket, and no other answer would follow.
    std::atomic<std::uint64_t> asked_{0};
    std::atomic<std::uint32_t> changes_{0};  // what the collector sleeps on
    std::atomic<std::uint32_t> answered_{0};
    std::atomic<std::uint32_t> progress_{0};
    std::atomic<std::uint64_t> step_cpu_ns_{0};  // CPU time of the collector at its last step
    std::atomic<std::uint32_t> tid_{0};
    std::atomic<const Task*> task_{nullptr};
    // How far the collector had got, by its CPU time and progress, when a thread gave up waiting. The end of a host
    // asks several times: only the first waits so long for one that holds, or waits for, a lock of the dying thread's.
    std::atomic<std::uint64_t> stuck_at_{0};
    // The collector's: what take() has seen.
    std::uint32_t taken_ = 0, taken_changes_ = 0;
};

}  // namespace flameprobe
