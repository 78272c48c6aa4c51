#pragma once

#include <string>

#include "base/result.hpp"

namespace flameprobe {

/// The libflameprobe.so that belongs to this program: installed beside it, or in the same build tree.
Result<std::string> find_library();

/// LD_PRELOAD with the library in front of what is there.
std::string preload_with(const std::string& library);

}  // namespace flameprobe
