#pragma once

#include <sys/types.h>

#include <charconv>
#include <cstring>
#include <string>

#include "base/result.hpp"

namespace flameprobe {

/// The one argument that a command is given: a process's number, above 0.
inline Result<pid_t> process_id(int arguments, char* const argv[]) {
    if (arguments != 1) return Error{"name one process by its number"};
    pid_t pid = 0;
    const char* end = argv[0] + std::strlen(argv[0]);
    const auto [last, bad] = std::from_chars(argv[0], end, pid);
    if (bad != std::errc{} || last != end || pid <= 0)
        return Error{std::string("'") + argv[0] + "' is no process number"};
    return pid;
}

}  // namespace flameprobe
