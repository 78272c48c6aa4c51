// What a misspelt name was probably meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flameprobe {

/// Of the known names the one that is two letters away at most (inserted, deleted, replaced, or swapped with their
/// neighbour), or that `typed` begins with; empty if there is none.
std::string closest(std::string_view typed, const std::vector<std::string>& known);

}  // namespace flameprobe
