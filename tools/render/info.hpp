#pragma once

#include <string>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// What was measured and how, its threads, and the files whose code was seen: "Label: value" lines.
std::string info_text(const NamedProfile& profile);

}  // namespace flameprobe
