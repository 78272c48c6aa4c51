// Where a running process is being profiled into.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.hpp"

namespace flameprobe {

/// The `.fprobe` that is being written for process `pid`: of the files that its threads, or the collectors beside it,
/// have open, the one that says it is that process's. An Error where there is none, or none that this user may see.
Result<std::string> profile_of_process(pid_t pid);

/// Whether the process is there. A zombie is not.
bool is_running(pid_t pid);

}  // namespace flameprobe
