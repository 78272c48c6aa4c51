#pragma once

#include <signal.h>

namespace flameprobe {

using FatalHandler = void (*)(int, siginfo_t*, void*);

/// Installs `handler` where the disposition is SIG_DFL; from then on the host is told SIG_DFL, and setting SIG_DFL
/// again brings the handler back.
void stand_in_for_default(int number, FatalHandler handler);

/// At load, and in a forked child: from now on the host's actions are those of the calling process.
void keep_dispositions_of_this_process() noexcept;
/// False in a child of vfork, and in others that libc does not know of: they may write to this process's memory, which
/// is not theirs to change. Where a filter may forbid to ask: true.
bool is_of_this_process() noexcept;

/// Restores SIG_DFL, for good: in a filter a handler of ours would make system calls that the filter kills for,
/// and the process would end by SIGSYS instead.
void stop_standing_in();

/// The library function behind ours. Async-signal-safe after the first call.
int real_sigaction(int number, const struct sigaction* action, struct sigaction* old);

/// Installs the fatal signals' handler; before the host's main.
void watch_fatal_signals();
/// In a forked child: forgets the thread of the parent that was ending the process.
void forget_ending_in_child();

}  // namespace flameprobe
