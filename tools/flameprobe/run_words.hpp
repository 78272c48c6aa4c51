#pragma once

#include <cstdint>
#include <string>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// The one thing that would make the picture tell more: names of functions, frames of the kernel.
/// `names`: what name_advice() says. Empty where nothing is badly missing.
/// `brief`: most of the CPU time without samples was used by threads that ran for less than ten periods.
std::string what_would_be_better(const NamedProfile& profile, std::uint64_t samples, const std::string& names,
                                 bool brief);

}  // namespace flameprobe
