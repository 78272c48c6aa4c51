#pragma once

#include <cstdint>
#include <string>

#include "arguments.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// The `rows` functions with most samples, as a table for a terminal: self, total, name, module.
std::string top_table(const NamedProfile& profile, std::uint64_t rows, SortBy sort);

}  // namespace flameprobe
