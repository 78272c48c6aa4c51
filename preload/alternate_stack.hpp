#pragma once

#include <signal.h>

namespace flameprobe {

/// Calls the host's handler of a signal that came in on a stack of ours with the frame where the kernel would have put
/// it without us, and never returns; returns if it is there. To be called by the handler that the kernel called.
void call_on_hosts_stack(void (*handler)(int, siginfo_t*, void*), int number, siginfo_t* info, void* context) noexcept;

/// Whether the calling thread has a stack of an engine's, which its forked child, where no engine knows it, gives back:
/// else the host would be told of it.
bool has_engines_stack() noexcept;
void give_back_engines_stack() noexcept;

}  // namespace flameprobe
