#pragma once

#include <string_view>

namespace flameprobe {

/// The name of a system call of this architecture, as in syscalls(2); empty for a number that is not known.
std::string_view system_call_name(unsigned number);

/// The names of the numbers from 0 on that are this architecture's own; a space follows each.
extern const std::string_view own_system_calls;

}  // namespace flameprobe
