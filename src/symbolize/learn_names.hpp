// Looks up the names of many profiles together, so that a library's debug information, and the kernel's symbols, are
// read once, and not again for each profile with an address that earlier profiles did not have.
#pragma once

#include <string>
#include <vector>

#include "symbolize/symbol_cache.hpp"
#include "symbolize/symbolizer.hpp"

namespace flameprobe {

/// Fills `cache` with the names of all addresses that the `.fprobe`s at `paths` have in files with a build id and,
/// if they were taken since this machine booted, in the kernel. Reads each path; load_profile() reads it again, so none
/// may be a pipe. Paths that are no `.fprobe` are skipped. Returns warnings as load_profile() does.
std::vector<std::string> learn_names(const std::vector<std::string>& paths, const SymbolizeOptions& options,
                                     SymbolCache& cache);

}  // namespace flameprobe
