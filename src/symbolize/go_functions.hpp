// Functions by Go's own table, which a stripped program still has.
#pragma once

#include "symbolize/elf_file.hpp"
#include "symbolize/symbol_table.hpp"

namespace flameprobe {

/// Adds the functions of `.gopclntab` as of Go 1.18 and later (runtime/symtab.go: pcHeader, _func); nothing where the
/// file has no such table, or where the start of the code is not known. Never reads outside of the table, whatever it
/// holds.
void add_go_functions(const ElfFile& file, SymbolTable& symbols);

}  // namespace flameprobe
