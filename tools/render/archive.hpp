#pragma once

#include "arguments.hpp"
#include "base/result.hpp"
#include "progress.hpp"

namespace flameprobe {

/// Writes the input again with the names of all its addresses in it, so that it can be read where the program and its
/// libraries are not. Writes to the output, or replaces the input. Names that were stored before are kept.
Result<void> archive_profile(const Arguments& arguments, Progress& progress);

}  // namespace flameprobe
