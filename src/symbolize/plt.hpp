// Names for the stubs through which a module calls others.
#pragma once

#include "symbolize/elf_file.hpp"
#include "symbolize/symbol_table.hpp"

namespace flameprobe {

/// Adds `name@plt` for every stub, by the relocation of the slot that the stub jumps through. Files for a CPU without a
/// PltFormat are left as they are.
void add_plt_stubs(const ElfFile& file, SymbolTable& symbols);

}  // namespace flameprobe
