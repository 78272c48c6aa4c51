#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace flameprobe {

/// Why no process can be looked at, in one sentence; empty if /proc lists those of this pid namespace.
std::string why_no_processes();
/// Why the number is none of a process that this user sees, in one sentence; empty if it is one. `command`: of
/// flameprobe, as it is given a process, which is named for a thread's.
std::string why_not_seen(pid_t pid, const std::string& command);

/// Why this user cannot attach to the process, in one sentence with what mends it and what is left; empty if nothing
/// stands in the way. `waits`: it is wanted where its threads wait, which can be seen without perf.
std::string why_not_attached(pid_t pid, bool waits);
/// The same of perf alone: that CPU time has no stacks, and why.
std::string what_has_no_stacks(pid_t pid);

/// What of the process this user cannot see though it can be attached to, in one sentence with what mends it; empty:
/// nothing.
std::string what_stays_hidden(pid_t pid);
/// The same by its reason: Yama's scope (kernel.yama.ptrace_scope), where the kernel has it.
std::string hidden_memory(std::optional<long> yama_scope);
/// That the process does nothing while it is looked at, since it is stopped; empty if it is not.
std::string what_stands_still(pid_t pid);
/// That it executes programs (execve) one after another, now, each too briefly to be sampled; empty if it does not, or
/// this user may not see it. Takes a fifth of a second.
std::string what_it_executes(pid_t pid);

}  // namespace flameprobe
