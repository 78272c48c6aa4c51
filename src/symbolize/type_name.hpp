// The parameters of functions that have no linkage name to tell them.
#pragma once

#include <string>

#include "symbolize/dwarf_walk.hpp"

namespace flameprobe {

/// `(int, Config const&)`, as far as the types have names; what has none is `...`.
std::string parameters_of(const Dwarf_Die& function);

}  // namespace flameprobe
