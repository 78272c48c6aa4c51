// Which files a profile's code came from, and which builds of them.
#pragma once

#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// Distinct, in the order in which they came: those of the profile's mappings, then those of the profiles it was merged
/// from.
std::vector<FileBuild> file_builds(const NamedProfile& profile);

}  // namespace flameprobe
