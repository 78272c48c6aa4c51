// Loaded files whose calls of malloc go to another function than ours: they are not counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flameprobe {

class CodeMap;

/// Paths of the files whose slot for malloc, calloc or realloc (dynamic relocations, gABI "Relocation") leads neither
/// into the code of [begin, end) nor into themselves. Such are opened with RTLD_DEEPBIND or by dlmopen, or have a
/// library of their own that has malloc. A slot that was never used leads into its file. Reads the host's memory.
std::vector<std::string> files_with_other_malloc(const CodeMap& map, std::uint64_t begin, std::uint64_t end);

}  // namespace flameprobe
