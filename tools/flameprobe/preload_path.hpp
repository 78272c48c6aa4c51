#pragma once

#include <string>

#include "base/result.hpp"

namespace flameprobe {

/// The libflameprobe.so that belongs to this program: installed beside it, or in the same build tree.
Result<std::string> find_library();

/// The library that sees the program's allocations, beside `library`.
Result<std::string> find_alloc_library(const std::string& library);
/// A value for LD_PRELOAD: the library, followed by the present value.
std::string preload_with(const std::string& library);

}  // namespace flameprobe
