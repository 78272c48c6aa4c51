#pragma once

#include <string>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// The processes of a run as a table in a page: CPU time, samples and their share. Empty if there is one process.
std::string process_rows(const NamedProfile& profile);

}  // namespace flameprobe
