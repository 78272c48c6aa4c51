#pragma once

#include <string>

namespace flameprobe {

/// The processes that this user can look at, by the CPU time that they use in half a second, as a table; those that use
/// none are left out.
std::string busy_processes();

}  // namespace flameprobe
