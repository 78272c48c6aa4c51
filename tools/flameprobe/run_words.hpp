#pragma once

#include <string>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// Where the time went, in one line: "62 % parse, 21 % futex in Queue::pop". What ran in the kernel is told by its
/// system call, where that is known, and by the function that made it. Empty for a profile without samples.
std::string where_the_time_went(const NamedProfile& profile);

}  // namespace flameprobe
