// Several runs in one `.fprobe`, as a merge writes them.
#pragma once

#include <vector>

#include "outside/processes.hpp"

namespace flameprobe {

/// Gives processes without a run's mark one of the file that they come from, so that those of several stay apart.
void tell_apart(std::vector<ProcessPart>& parts);

/// The processes of each run, in the order of the file.
std::vector<std::vector<ProcessPart>> runs_of(std::vector<ProcessPart> parts);

}  // namespace flameprobe
