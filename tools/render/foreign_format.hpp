// Formats that are not read, so that the user learns what his file is and what to do.
#pragma once

#include <string>
#include <string_view>

namespace flameprobe {

/// "is UTF-16: ...", by the beginning of an input; empty for what may be read.
std::string foreign_format(std::string_view head);

}  // namespace flameprobe
