#pragma once

#include <signal.h>
#include <time.h>

namespace flameprobe {

/// For a signal that the calling thread blocks: takes back what an engine has sent. What others sent goes on waiting.
/// Gives whether something does.
bool drop_engines_signals(int number) noexcept;

/// Makes the engine give up this signal, if it samples with it. What it has sent to the calling thread does not come.
void yield_to_host(int number) noexcept;

/// As sigtimedwait, without what libc does beside the system call.
int sigtimedwait_by_number(const sigset_t* set, siginfo_t* info, const timespec* limit);

}  // namespace flameprobe
