#pragma once

#include <string>

#include "base/result.hpp"

namespace flameprobe {

/// The libflameprobe.so that belongs to this program: installed beside it, or in the same build tree.
Result<std::string> find_library();

/// A value for LD_PRELOAD: the library, followed by the present value.
std::string preload_with(const std::string& library);

}  // namespace flameprobe
