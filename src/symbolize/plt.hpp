// Names for the stubs through which a module calls others.
#pragma once

#include "symbolize/elf_file.hpp"
#include "symbolize/symbol_table.hpp"

namespace flameprobe {

/// Adds `name@plt` for every stub in .plt, .plt.sec and .plt.got, by the relocation of the slot that the stub jumps
/// through. x86-64 only; other files are left as they are.
void add_plt_stubs(const ElfFile& file, SymbolTable& symbols);

}  // namespace flameprobe
