#pragma once

#include <optional>

#include "symbolize/function_starts.hpp"
#include "symbolize/symbol_table.hpp"

namespace flameprobe {

/// `_start`, where a stripped program's file still proves it: an executable that imports __libc_start_main is entered
/// in crt1.o's _start, and the unwind table says how far that reaches. The root of every main thread's stack has a name
/// so.
std::optional<ElfSymbol> entry_symbol(const ElfFile& file, const FunctionStarts& functions);

}  // namespace flameprobe
