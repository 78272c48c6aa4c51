// The library must be a file while programs run that preload it, and so must the program that draws at their end: both
// are put into a directory of this run's own.
#pragma once

#include <string>

#include "base/result.hpp"

namespace flameprobe {

inline constexpr const char* drawing_copy = "flameprobe-draw";

/// The path of a file that is packed in this program. The first call unpacks all of them; a process of ours removes
/// them when neither this program nor any that it started needs them (remover.hpp).
Result<std::string> unpacked_file(const std::string& name);

}  // namespace flameprobe
