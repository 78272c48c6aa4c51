// What interposed functions of the host call, in the host's own threads. All are async-signal-safe, keep errno, and do
// nothing while no handler engine samples.
#pragma once

#include <cstdint>

namespace flameprobe::handler {

/// A new thread calls this before any of its own work: it gets a timer, and an alternate stack if it has none, at a
/// cost of a few system calls. Threads that do not are found by the collector within a drain. Not for children of
/// vfork.
void cover_this_thread() noexcept;

/// The host is about to set a handler for `signal` itself. If it is the one in use, all timers are disarmed, so that
/// none of our signals reaches that handler; the collector takes another signal at its next drain. False where it is
/// not timers that signal, but events that only the collector can stop.
bool yield_signal(int signal) noexcept;

/// Is `handler`, as the kernel gave it, ours? Then the host is to be told SIG_DFL.
bool is_ours(std::uintptr_t handler) noexcept;

/// The calling thread is about to enter a seccomp filter: from now on no handler makes a system call, which the filter
/// might kill for. In strict mode even reading the time-stamp counter kills (PR_SET_TSC in prctl(2)): a handler that
/// has no slot for the thread takes no sample there, and counts it as lost.
void expect_seccomp(bool strict) noexcept;

}  // namespace flameprobe::handler
