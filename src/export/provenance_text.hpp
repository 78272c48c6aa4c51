// The provenance of a result, in lines that scripts can read: `key: value`.
#pragma once

#include <string>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// One fact a line, always in the same order and free of locale; a key may come several times (build id). Made from the
/// profile alone, so that it is the same on every machine. Empty for a profile without a run.
std::string provenance_text(const NamedProfile& profile);

}  // namespace flameprobe
