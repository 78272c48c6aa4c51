#pragma once

#include <string>

#include "base/result.hpp"

namespace flameprobe {

/// The libflameprobe.so that belongs to this program: installed beside it, or in the same build tree.
Result<std::string> find_library();

/// What to preload: `library`, or where it is empty the one that belongs to this program; with `allocations` also the
/// one beside it that sees the program's allocations. For commands that have the option --library.
Result<std::string> libraries_to_preload(std::string library, bool allocations);
/// A value for LD_PRELOAD: the library, followed by the present value.
std::string preload_with(const std::string& library);

}  // namespace flameprobe
