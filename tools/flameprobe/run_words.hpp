#pragma once

#include <cstdint>
#include <string>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// Where the time went, in one line: "62 % parse, 21 % futex in Queue::pop". What ran in the kernel is told by its
/// system call, where that is known, and by the function that made it. Empty for a profile without samples.
std::string where_the_time_went(const NamedProfile& profile);

/// The one thing that would make the picture tell more: names of functions, frames of the kernel, more samples.
/// `names`: what name_advice() says. Empty where nothing is badly missing.
/// `brief`: most of the CPU time without samples was used by threads that ran for less than ten periods.
std::string what_would_be_better(const NamedProfile& profile, std::uint64_t samples, const std::string& names,
                                 bool brief);

}  // namespace flameprobe
