#pragma once

#include <sys/types.h>

#include <cstddef>
#include <ctime>
#include <string>
#include <vector>

namespace flameprobe {

struct FoundResults {
    std::string best;        // the picture, or else another result; empty if there is none
    std::size_t others = 0;  // of the same kind, from the process's children or images before an exec
};

/// The profiles that were written since `start` under names that `out` may stand for, numbered ones and parts included.
std::vector<std::string> find_profiles(const std::string& out, const timespec& start);
/// The folders of profiles that grow, likewise.
std::vector<std::string> find_folders(const std::string& out, const timespec& start);
/// Results of process `pid` and its children, written since `start`. `out` is as FLAMEPROBE_OUT.
FoundResults find_results(const std::string& out, pid_t pid, const timespec& start);

}  // namespace flameprobe
