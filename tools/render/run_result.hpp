// A run's result from the profiles of its processes.
#pragma once

#include <string>

#include "profile_pictures.hpp"

namespace flameprobe {

/// `folder` is <out>.run. Writes <out>.fprobe with all processes of the run, and the pictures. The folder is removed
/// unless a process of the run still writes into it: then the last one to end asks for the result again. Two calls for
/// one run wait for each other.
ResultMessages write_run_result(const std::string& folder, const ResultOptions& options);

}  // namespace flameprobe
