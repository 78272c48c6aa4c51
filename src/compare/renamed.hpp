// Functions that may have been renamed or moved: another name, but the same callers and callees.
#pragma once

#include <string>
#include <vector>

#include "compare/named_side.hpp"

namespace flameprobe {

/// Gives a function that only `before` has the name of one that only `after` has, if what calls it and what it calls
/// take the same parts of its time, and both have a part of the whole that is alike. It needs a callee that both have,
/// or the same last part of the name: of two that only have a caller in common one may as well replace the other. Names
/// are alike already. Returns a sentence for each, which says that it may be so.
std::vector<std::string> join_renamed(NamedSide& before, NamedSide& after);

}  // namespace flameprobe
