#pragma once

#include <sys/types.h>

#include <string>

namespace flameprobe {

/// Why this user cannot attach to the process, in one sentence with what mends it; empty if nothing stands in the way.
std::string why_not_attached(pid_t pid);

}  // namespace flameprobe
