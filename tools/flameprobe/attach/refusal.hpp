#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace flameprobe {

/// Why this user cannot attach to the process, in one sentence with what mends it; empty if nothing stands in the way.
std::string why_not_attached(pid_t pid);

/// What of the process this user cannot see though it can be attached to, in one sentence with what mends it; empty:
/// nothing.
std::string what_stays_hidden(pid_t pid);
/// The same by its reason: Yama's scope (kernel.yama.ptrace_scope), where the kernel has it.
std::string hidden_memory(std::optional<long> yama_scope);

}  // namespace flameprobe
