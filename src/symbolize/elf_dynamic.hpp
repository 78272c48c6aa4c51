// Symbol tables of files without section headers: images copied from memory, and programs stripped of everything.
#pragma once

#include <cstdint>
#include <vector>

#include "symbolize/elf_file.hpp"

namespace flameprobe {

/// `.dynsym`, `.dynstr` (linked to it) and `.text`, as far as PT_DYNAMIC, at `offset` with `size` bytes, and the
/// segments tell where they are. Empty if they do not.
std::vector<ElfSection> sections_from_dynamic(const FileBytes& bytes, const std::vector<ElfSegment>& segments,
                                              std::uint64_t offset, std::uint64_t size);

}  // namespace flameprobe
