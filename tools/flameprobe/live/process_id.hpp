#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>

#include "base/number.hpp"
#include "base/result.hpp"

namespace flameprobe {

/// The one argument that a command is given: a process's number, above 0.
inline Result<pid_t> process_id(int arguments, char* const argv[]) {
    if (arguments != 1) return Error{"name one process by its number"};
    const auto pid = number_in<pid_t>(argv[0]);
    if (!pid || *pid <= 0) return Error{std::string("'") + argv[0] + "' is no process number"};
    return *pid;
}

/// The exit status, its reason on stderr.
inline int complain(int status, const std::string& message) {
    std::fprintf(stderr, "flameprobe: %s\n", message.c_str());
    return status;
}

}  // namespace flameprobe
