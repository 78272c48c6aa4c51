// What would give names to code that a virtual machine makes or interprets.
#pragma once

#include <string>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// A sentence that names the language's flag, if more than a tenth of the time is in code of a virtual machine that has
/// no names; else empty.
std::string name_advice(const NamedProfile& profile);

}  // namespace flameprobe
