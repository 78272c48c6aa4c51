#pragma once

#include <sys/types.h>

#include <cstddef>
#include <ctime>
#include <string>

namespace flameprobe {

struct FoundResults {
    std::string best;        // the picture, or what there is instead; empty if there is nothing
    std::size_t others = 0;  // of the same kind, from the process's children or images before an exec
};

/// Results of process `pid` and its children, written since `start`. `out` is as FLAMEPROBE_OUT.
FoundResults find_results(const std::string& out, pid_t pid, const timespec& start);

}  // namespace flameprobe
