// How the sampled program was built, as its file says.
#pragma once

#include <string>

#include "profile/model.hpp"
#include "symbolize/elf_file.hpp"

namespace flameprobe {

/// Adds "compilers" and "optimisation flags" to the facts of a run that has none of them, behind what is known of its
/// directory. `executable`: where the program was mapped; null if no sample was in it. Gives whether anything was
/// added: the file must be the one that ran, so not known for a program that was rebuilt, or ran on another machine.
bool add_build_facts(RunInfo& run, const Mapping* executable);

// How a file was compiled, where it says so.

/// The options that decide what code a compiler makes (-O2, -march=..., -f...), as units of the debug information tell
/// them (DW_AT_producer), the most frequent first, or as -frecord-gcc-switches kept them. Empty if the file has
/// neither, or if reading it would take more than `most_bytes` of memory. Throws std::bad_alloc.
std::string build_flags(const ElfFile& file, std::uint64_t most_bytes = 4 << 20);

}  // namespace flameprobe
