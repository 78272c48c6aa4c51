// The namespaces and classes around DIEs. Nothing in a DIE points outwards, so they are found by walking in.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "symbolize/dwarf_file.hpp"

namespace flameprobe {

/// For each of the ascending DIE offsets in `unit` the scopes around it, such as `std::vector<int>::`; those without
/// any are left out. Subtrees without a wanted DIE are jumped over where DW_AT_sibling tells how.
std::map<std::uint64_t, std::string> find_scopes(const DwarfFile& file, const DwarfUnit& unit,
                                                 std::span<const std::uint64_t> offsets);

}  // namespace flameprobe
