// Functions by Go's own table, which stays where the symbol table was stripped.
#pragma once

#include "symbolize/elf_file.hpp"
#include "symbolize/symbol_table.hpp"

namespace flameprobe {

/// Adds the functions of `.gopclntab` as of Go 1.18 and later (runtime/symtab.go: pcHeader, _func); nothing where there
/// is none, or where it does not say where the code begins. Never reads out of the table, whatever it holds.
void add_go_functions(const ElfFile& file, SymbolTable& symbols);

}  // namespace flameprobe
