// `flameprobe run` of a program into which nothing can be preloaded: a static one, or one of another C library.
#pragma once

#include <string>
#include <vector>

#include "../child.hpp"
#include "../run_pictures.hpp"
#include "session/options.hpp"

namespace flameprobe {

/// Starts the command and records it from outside, from its first instruction, with its children as far as Options says
/// so. `run` is what end_run() takes; the process and its CPU time are filled in here. Returns the command's wait
/// status; where it cannot be started, an Error, and `status` for the shell (126 or 127).
Result<int> run_from_outside(char* const command[], const Child::Environment& environment, Options options,
                             FinishedRun& run, int& status);

}  // namespace flameprobe
