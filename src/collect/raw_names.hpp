// What the symbol tables of an ELF file say about its code: for files that whoever reads the profile will not find.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flameprobe {

/// Copies what lies at an offset of the file; gives how many bytes there were.
using ReadFile = std::function<std::size_t(std::uint64_t offset, std::span<std::byte> out)>;

/// For each of these offsets of code in the file the function's name as the tables have it, not demangled; where only
/// unwind tables know the function, `[FILE+0x1a2b40]`; empty where nothing does. Of `.symtab` and `.dynsym`; of a copy
/// from memory, which has no sections, what PT_DYNAMIC leads to. Debug information is not read.
std::vector<std::string> raw_names(const ReadFile& read, std::string_view path,
                                   const std::vector<std::uint64_t>& offsets);

}  // namespace flameprobe
