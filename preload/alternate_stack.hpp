#pragma once

#include <signal.h>

namespace flameprobe {

/// sigaltstack(2) as the host sees it. Gives 0 or minus the error number. Async-signal-safe.
int set_alternate_stack(const stack_t* wanted, stack_t* before) noexcept;

/// Calls the host's handler of a signal that came in on a stack of ours with the frame where the kernel would have put
/// it without us, and never returns; returns if it is there. To be called by the handler that the kernel called.
void call_on_hosts_stack(void (*handler)(int, siginfo_t*, void*), int number, siginfo_t* info, void* context) noexcept;

}  // namespace flameprobe
