#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace flameprobe {

/// The inputs that one side of a comparison names: a file; a directory, for the `.fprobe` in it by name; or several of
/// either with commas between. An Error where a directory has none.
Result<std::vector<std::string>> side_inputs(const std::string& text);

/// What a reader is told of them: "a.fprobe", "a.fprobe and 4 more".
std::string side_name(const std::vector<std::string>& inputs);

}  // namespace flameprobe
