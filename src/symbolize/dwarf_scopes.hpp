// The namespaces, classes and functions around DIEs. Nothing in a DIE points outwards, so they are found by walking in.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "symbolize/dwarf_walk.hpp"

namespace flameprobe {

/// For each of the DIEs (by their place in memory) below `unit` the scopes around it, such as `std::vector<int>::` or
/// `run(Config const&)::{lambda#2}::`; those without any are left out. A closure, which has no name, is called by its
/// number among those of the scope around it, in the order of the source; so two closures never have one name. Subtrees
/// without a wanted DIE are jumped over where DW_AT_sibling tells how.
void find_scopes(const Dwarf_Die& unit, std::vector<const void*> dies, std::map<const void*, std::string>& found);

}  // namespace flameprobe
