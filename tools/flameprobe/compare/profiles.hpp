// Two profiles, or two groups of them, by the comparison that flameprobe-render --diff makes.
#pragma once

#include <string>

#include "arguments.hpp"
#include "base/result.hpp"
#include "compared.hpp"

namespace flameprobe::compare {

/// Whether a side is named like profiles: a file, a directory of `.fprobe`, or several with commas between.
bool is_of_profiles(const std::string& side);

/// As flameprobe-render --diff does with these arguments. Warnings go to standard error.
Result<Compared> compare_profiles(const Arguments& arguments);

}  // namespace flameprobe::compare
