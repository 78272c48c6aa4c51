// How a file was compiled, where it says so.
#pragma once

#include <string>

#include "symbolize/elf_file.hpp"

namespace flameprobe {

/// The options that decide what code a compiler makes (-O2, -march=..., -f...), as units of the debug information tell
/// them (DW_AT_producer), the most frequent first, or as -frecord-gcc-switches kept them. Empty if the file has
/// neither, or if reading it would take more than `most_bytes` of memory. Throws std::bad_alloc.
std::string build_flags(const ElfFile& file, std::uint64_t most_bytes = 4 << 20);

}  // namespace flameprobe
