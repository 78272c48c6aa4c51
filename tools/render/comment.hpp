// A profile as a comment on GitHub: what a reviewer reads without opening a file.
#pragma once

#include <string>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// Markdown of some 50 lines at most: the answer of each event, what was run, the ten rows of the table of functions,
/// what the threads waited for, and an icicle graph in letters, since a comment shows no SVG that lies elsewhere.
std::string comment_text(const NamedProfile& profile);

}  // namespace flameprobe
