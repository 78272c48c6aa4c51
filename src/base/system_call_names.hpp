#pragma once

#include <string_view>

namespace flameprobe {

/// The name of a system call of this architecture, as in syscalls(2); empty for a number that is not known.
std::string_view system_call_name(unsigned number);

}  // namespace flameprobe
