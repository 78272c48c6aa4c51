// The tables below a page.
#pragma once

#include <string>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// Which locks were waited for, how long, and what their holders did; empty if no holder is known.
std::string lock_markup(const NamedProfile& profile);

/// The processes of a run: CPU time, samples and their share. Empty if there is one process.
std::string process_rows(const NamedProfile& profile);

}  // namespace flameprobe
