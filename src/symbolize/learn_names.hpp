// The names that many profiles need, looked up together: the debug information of a library that all of them ran is
// read once, and not for each profile that has an address in it that those before had not.
#pragma once

#include <string>
#include <vector>

#include "symbolize/symbol_cache.hpp"
#include "symbolize/symbolizer.hpp"

namespace flameprobe {

/// Fills `cache` with the code of files with a build id that the `.fprobe`s at `paths` have; what else `paths` has is
/// left to load_profile(). Each is read once, so nothing may be a pipe. Gives warnings as load_profile() does.
std::vector<std::string> learn_names(const std::vector<std::string>& paths, const SymbolizeOptions& options,
                                     SymbolCache& cache);

}  // namespace flameprobe
