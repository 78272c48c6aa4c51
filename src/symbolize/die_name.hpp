// What a function's DIE, and those that it refers to, say about its name.
#pragma once

#include <string>

#include "symbolize/dwarf_walk.hpp"

namespace flameprobe {

struct DieName {
    const char* linkage = nullptr;  // mangled; null if the compiler gave none
    const char* plain = nullptr;    // as in the source, without the scopes around it
    Dwarf_Die named{};              // the DIE that has `plain`
    Dwarf_Word decl_line = 0;
};

/// Follows DW_AT_abstract_origin and DW_AT_specification from concrete and inlined functions to whatever names them.
DieName name_of(Dwarf_Die die);

/// The parameters of a function whose linkage name does not give them: `(int, Config const&)`, where a type without a
/// name is `...`.
std::string parameters_of(const Dwarf_Die& function);

}  // namespace flameprobe
