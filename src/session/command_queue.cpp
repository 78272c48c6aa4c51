#include "session/command_queue.hpp"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

#include "base/clock.hpp"
#include "base/deadline.hpp"
#include "base/hash.hpp"
#include "capture/handler/raw_system_call.hpp"
#include "cpu/instructions.hpp"
#include "sandbox/host_restrictions.hpp"
#include "session/task.hpp"

namespace flameprobe {

namespace {

// futex(2), private to the process. std::atomic::wait has no time limit. Both are async-signal-safe: bare system calls.

/// Sleeps while `word` is `expected`, at most `nanoseconds`. May wake early.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, std::uint64_t nanoseconds) noexcept {
    const timespec limit = timespec_of(nanoseconds);
    ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, &limit, nullptr, 0);
}
void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept {
    ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

// EINVAL shows that the thread is gone (clock_gettime(2)); another error may be a filter's.
bool CommandQueue::collector_is_gone() const noexcept {
    if (const Task* task = task_.load(std::memory_order_relaxed)) return task->ended();
    const std::uint32_t tid = tid_.load(std::memory_order_relaxed);
    timespec time;
    return tid != 0 && ::clock_gettime(thread_cpu_clock(tid), &time) != 0 && errno == EINVAL;
}

std::uint64_t CommandQueue::collector_cpu_ns() const noexcept {
    const std::uint32_t tid = tid_.load(std::memory_order_relaxed);
    if (tid == 0) return 0;  // its clock would be our own
    return read_clock(task_.load(std::memory_order_relaxed) != nullptr ? process_cpu_clock(tid)
                                                                       : thread_cpu_clock(tid));
}

std::uint32_t CommandQueue::ask(Request request) noexcept {
    std::uint64_t before = asked_.load(std::memory_order_relaxed);
    while (!asked_.compare_exchange_weak(before, (before | request) + one_ticket, std::memory_order_release,
                                         std::memory_order_relaxed)) {
    }
    changes_.fetch_add(1, std::memory_order_release);
    if (!host_is_filtered) futex_wake_all(changes_);
    return ticket_of(before) + 1;
}

void CommandQueue::nudge() noexcept {
    changes_.fetch_add(1, std::memory_order_release);
    handler::system_call(SYS_futex, &changes_, FUTEX_WAKE_PRIVATE, 1);
}

bool CommandQueue::answered(std::uint32_t ticket) const noexcept {
    return static_cast<std::int32_t>(answered_.load(std::memory_order_acquire) - ticket) >= 0;
}

bool CommandQueue::wait(std::uint32_t ticket, std::uint64_t patience_ns) noexcept {
    if (host_is_filtered) return spin(ticket, patience_ns);
    constexpr std::uint64_t look_every_ns = 50 * ns_per_ms;
    std::uint64_t last_cpu = 0;
    std::uint32_t last_progress = 0;
    for (Deadline deadline(patience_ns);;) {
        const Deadline next_look(look_every_ns);
        for (std::uint64_t left = look_every_ns; left != 0; left = next_look.left_ns()) {
            const std::uint32_t seen = answered_.load(std::memory_order_acquire);
            if (answered(ticket)) return true;
            if (collector_is_gone()) return answered(ticket);
            futex_wait(answered_, seen, left);
        }
        const std::uint64_t cpu = collector_cpu_ns();
        const std::uint32_t progress = progress_.load(std::memory_order_relaxed);
        const bool works = cpu != last_cpu && !paused_at_breakpoint &&
                           cpu - step_cpu_ns_.load(std::memory_order_relaxed) < patience_ns;
        if (works || progress != last_progress) deadline = Deadline(patience_ns);
        const std::uint64_t at = mix(cpu, progress);
        if (deadline.over() || stuck_at_.load(std::memory_order_relaxed) == at) {
            stuck_at_.store(at, std::memory_order_relaxed);
            return answered(ticket);
        }
        last_cpu = cpu;
        last_progress = progress;
    }
}

bool CommandQueue::spin(std::uint32_t ticket, std::uint64_t patience_ns) noexcept {
    std::uint32_t last_progress = progress_.load(std::memory_order_relaxed);
    Deadline deadline(patience_ns);  // by the vdso's clock
    while (!answered(ticket)) {
        for (int i = 0; i < 1000; ++i) cpu::relax();
        const std::uint32_t progress = progress_.load(std::memory_order_relaxed);
        if (progress != last_progress) deadline = Deadline(patience_ns);
        if (deadline.over()) return answered(ticket);
        last_progress = progress;
    }
    return true;
}

void CommandQueue::alive() noexcept {
    step_cpu_ns_.store(read_clock(CLOCK_THREAD_CPUTIME_ID), std::memory_order_relaxed);
    progress_.fetch_add(1, std::memory_order_relaxed);
}

std::uint32_t CommandQueue::take(std::uint64_t nanoseconds) noexcept {
    const std::uint32_t changes = changes_.load(std::memory_order_acquire);
    const bool is_new = changes != taken_changes_;
    if (ticket_of(asked_.load(std::memory_order_relaxed)) == taken_ && !is_new)
        futex_wait(changes_, changes, nanoseconds);
    taken_changes_ = changes_.load(std::memory_order_acquire);
    const std::uint64_t asked = asked_.fetch_and(~std::uint64_t{all_requests}, std::memory_order_acquire);
    taken_ = ticket_of(asked);
    return static_cast<std::uint32_t>(asked & all_requests);
}

std::optional<std::uint32_t> CommandQueue::wait_for_more(std::uint32_t ticket,
                                                         std::uint64_t nanoseconds) const noexcept {
    for (const Deadline deadline(nanoseconds);;) {
        const std::uint32_t changes = changes_.load(std::memory_order_acquire);
        const std::uint64_t asked = asked_.load(std::memory_order_acquire), left = deadline.left_ns();
        if (ticket_of(asked) != ticket) return static_cast<std::uint32_t>(asked & all_requests);
        if (left == 0) return std::nullopt;
        futex_wait(changes_, changes, left);
    }
}

void CommandQueue::answer() noexcept {
    // A thread waits only until its ticket is answered: without a new answer no thread is to be woken.
    if (answered_.exchange(taken_, std::memory_order_release) != taken_) futex_wake_all(answered_);
}

}  // namespace flameprobe
