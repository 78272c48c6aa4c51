// The signal handler itself. It copies and returns: no lock, no allocation, no libc, no system call where the thread's
// stack is known (docs/signal-safety.md).
#pragma once

#include <signal.h>

#include <cstdint>

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

}  // namespace flameprobe::handler
