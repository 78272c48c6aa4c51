// A run's result from the profiles of its processes.
#pragma once

#include <string>
#include <vector>

#include "export/output.hpp"

namespace flameprobe {

struct RunResult {
    std::string folder;  // <out>.run
    std::vector<Format> formats;
    std::vector<std::string> debug_directories;

    std::string stem() const { return folder.substr(0, folder.size() - std::string_view(".run").size()); }
};

/// What there is to tell, one line each.
struct RunMessages {
    std::vector<std::string> wrote, problems;
};

/// Writes <out>.fprobe with all processes of the run, and the pictures. The folder is removed unless a process of the
/// run still writes into it: then the last one to end asks for the result again. Two calls for one run wait for each
/// other.
RunMessages write_run_result(const RunResult& run);

}  // namespace flameprobe
