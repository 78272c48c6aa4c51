// The table of locks below a page.
#pragma once

#include <string>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// Which locks were waited for, how long, and what their holders did; empty if no holder is known.
std::string lock_markup(const NamedProfile& profile);

}  // namespace flameprobe
