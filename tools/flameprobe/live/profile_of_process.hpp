// Finds the profile of a running process.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.hpp"

namespace flameprobe {

/// The `.fprobe` that is being written for process `pid`: of the files that its threads, or the collectors beside it,
/// have open, the one whose run is that process. An Error if there is none, or this user may not see it.
Result<std::string> profile_of_process(pid_t pid);

/// Whether the process runs. A zombie does not.
bool is_running(pid_t pid);

}  // namespace flameprobe
