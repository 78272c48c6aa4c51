#pragma once

#include <sys/types.h>

#include <string>

#include "base/number.hpp"
#include "base/result.hpp"

namespace flameprobe {

/// The processes that this user can look at, by the CPU time that they use in half a second, as a table; those that use
/// none are left out.
std::string busy_processes();

/// Parses a command's only argument, a process id above 0.
inline Result<pid_t> process_id(int arguments, char* const argv[]) {
    if (arguments != 1) return Error{"name one process by its number"};
    const auto pid = number_in<pid_t>(argv[0]);
    if (!pid || *pid <= 0) return Error{std::string("'") + argv[0] + "' is no process number"};
    return *pid;
}

}  // namespace flameprobe
