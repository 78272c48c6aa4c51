#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.hpp"

namespace flameprobe {

/// The processes that this user can look at, by the CPU time that they use in half a second, as a table; those that use
/// none are left out.
std::string busy_processes();

/// A command's only argument: a process id above 0, or the name that only one process has (/proc/PID/comm).
Result<pid_t> process_id(int arguments, char* const argv[]);

}  // namespace flameprobe
