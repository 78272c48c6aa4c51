// The signal handler itself, and what it needs of each thread. It copies and returns: no lock, no allocation, no libc,
// no system call where the thread's stack is known (docs/signal-safety.md).
#pragma once

#include <signal.h>

#include <cstdint>

#include "capture/handler/state.hpp"

namespace flameprobe::handler {

/// Async-signal-safe. errno is kept by never being touched.
void on_signal(int signal, siginfo_t* info, void* context) noexcept;

/// Installs on_signal for `signal`, with the whole mask blocked while it runs, on the alternate stack if the thread has
/// one, restarting system calls. Signals that are not ours go on to the handler that was there before. By bare system
/// call: the host's view of its own handlers may be interposed. Gives 0 or an error number.
int install(int signal) noexcept;
/// The handler of `signal` that the kernel would call; `not_told` where a filter keeps that from us.
inline constexpr std::uintptr_t not_told = ~std::uintptr_t{0};
std::uintptr_t installed(int signal) noexcept;

/// What the host believes to be its handler of our signal: signals that are not ours are passed on to it. `handler` may
/// be SIG_DFL (the signal then does what it would have done without us) or SIG_IGN. Any thread.
void set_host_action(int signal, std::uintptr_t handler, int flags) noexcept;

// Slots, timers and alternate stacks of threads: made by the collector for threads it finds, or by a new thread for
// itself (attach_this_thread()). All async-signal-safe.

/// Claims a slot for `tid`. Gives its index, or slot_count where the table is full. Its fields are then the caller's
/// until it stores `ready`.
std::uint32_t claim_slot(State& state, std::uint32_t tid) noexcept;
/// Reads the limit of pending signals, which the host may have changed, and how many of them are ours.
void read_timer_limit(State& state) noexcept;
/// timer_create for the CPU clock of the slot's thread; the timer is not armed. Gives 0 or an error number:
/// EAGAIN if the rest is the host's.
int make_timer(State& state, std::uint32_t slot) noexcept;
/// From now on each tick that hits the thread is noticed, or none. Once the signal was yielded to the host no timer is
/// armed. Gives 0 or an error number.
int arm_timer(const State& state, const ThreadSlot& slot, bool on) noexcept;
void delete_timer(State& state, ThreadSlot& slot) noexcept;
/// Maps an alternate stack for the slot unless it has one from an earlier thread.
void map_alternate_stack(const State& state, ThreadSlot& slot) noexcept;

// Called by the functions that preload interposes, in the host's own threads. All are async-signal-safe, keep errno,
// and do nothing while no handler engine samples.

/// A new thread calls this before any of its own work: it gets a timer, and an alternate stack if it has none, at a
/// cost of a few system calls. Threads that do not are found by the collector within a drain. Not for children of
/// vfork.
void attach_this_thread() noexcept;

/// The host is about to set a handler for `signal` itself. If it is the one in use, all timers are disarmed, so that
/// none of our signals reaches that handler; the collector takes another signal at its next drain. False where only the
/// collector can stop the signals: those of perf events, or of timers if the caller may make no system call.
bool yield_signal(int signal, bool may_call = true) noexcept;

/// Whether an engine of ours sent this signal, also one that has ended by now.
bool has_sent(const siginfo_t& info) noexcept;

/// Is `handler`, as the kernel gave it, ours? Then the host is to be told SIG_DFL.
bool is_ours(std::uintptr_t handler) noexcept;

/// Makes a system call only for one that was taken at some time.
bool samples_with(int signal) noexcept;

/// Is the alternate stack that begins at `base` one of ours? Then the host is to be told that there is none.
bool gave_stack(std::uintptr_t base) noexcept;

/// The calling thread is about to enter a filter: from now on no handler makes a system call, which the filter
/// might kill for, nor reads the time-stamp counter (strict mode kills for that: PR_SET_TSC in prctl(2)). A handler
/// whose signal names no slot then cannot ask for its thread's id: except in the calling thread, its samples are
/// counted as lost.
void expect_filter() noexcept;

}  // namespace flameprobe::handler
