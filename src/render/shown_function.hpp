// Functions that a reader cannot tell apart are shown as one, in pictures, tables and totals alike, so that all show
// the same number.
#pragma once

#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// For each function the one that is shown in its place: the first with the same name, module and kind.
std::vector<FunctionId> shown_functions(const NamedProfile& profile);

/// For each function its place when all are sorted by name, then kind, module, file, line and id.
std::vector<std::uint32_t> ranks_by_name(const NamedProfile& profile);

}  // namespace flameprobe
