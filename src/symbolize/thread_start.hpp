#pragma once

#include <cstdint>
#include <vector>

#include "symbolize/module.hpp"

namespace flameprobe {

/// The name that libstdc++ gives the routine in which a std::thread starts. It is a local symbol, which distributions
/// strip.
inline constexpr const char* thread_start_name = "std::execute_native_thread_routine";

/// Where such routines start in a file of x86-64, proven by its own code: std::thread::_M_start_thread, which is
/// exported, passes one function to pthread_create as the start routine.
std::vector<std::uint64_t> thread_starts(const ElfFile& file, const FunctionStarts& functions);

}  // namespace flameprobe
