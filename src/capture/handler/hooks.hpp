// Called by the functions that preload interposes, in the host's own threads. All are async-signal-safe, keep errno,
// and do nothing while no handler engine samples.
#pragma once

#include <signal.h>

#include <cstdint>

namespace flameprobe::handler {

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

/// Does an engine sample with this signal? Makes a system call only for one that was taken at some time.
bool samples_with(int signal) noexcept;

/// Is the alternate stack that begins at `base` one of ours? Then the host is to be told that there is none.
bool gave_stack(std::uintptr_t base) noexcept;

/// The calling thread is about to enter a filter: from now on no handler makes a system call, which the filter
/// might kill for, nor reads the time-stamp counter (strict mode kills for that: PR_SET_TSC in prctl(2)). A handler
/// whose signal names no slot then cannot ask for its thread's id: except in the calling thread, its samples are
/// counted as lost.
void expect_filter() noexcept;

}  // namespace flameprobe::handler
