// Names for locks that are, or lie in, variables of the program.
#pragma once

#include <string>
#include <vector>

#include "profile/model.hpp"
#include "symbolize/symbolizer.hpp"

namespace flameprobe {

/// Gives frames that say who holds a lock (is_holder_note()) the lock in the place of a source file (lock_file()).
void name_locks(const std::vector<Mapping>& mappings, const std::vector<Location>& locations,
                const SymbolizeOptions& options, SymbolChains& chains);

}  // namespace flameprobe
