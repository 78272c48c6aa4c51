#pragma once

#include <cstdint>
#include <string>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// One row for each scope, and one for what is in none: samples while it was the innermost open scope, samples while it
/// was open at all, and the functions with most samples of their own while it was innermost.
std::string scope_table(const NamedProfile& profile, std::uint64_t rows);

}  // namespace flameprobe
