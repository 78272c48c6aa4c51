// Functions that one compiler or build inlined without a trace, and the other did not.
#pragma once

#include <string>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// Takes functions that only one side has out of its stacks where the other side has their time in the caller itself:
/// then both are compared by the caller. What is really new or gone stays, since its caller's own time is as it was.
/// Names are alike already. Returns sentences on what was taken out.
std::vector<std::string> join_inlined(NamedProfile& before, NamedProfile& after);

}  // namespace flameprobe
