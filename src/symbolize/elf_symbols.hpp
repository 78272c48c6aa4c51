// The symbols of an ELF file, one after the other.
#pragma once

#include <elf.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "symbolize/elf_file.hpp"

namespace flameprobe {

/// Whether is_wanted(const Elf64_Sym&) gives true for one of a table; the first ends the search. Reads the table piece
/// by piece and keeps nothing: pages for all of a compiler's table take longer than to read it twice.
template <class IsWanted>
bool any_symbol(const ElfFile& file, const ElfSection& table, IsWanted is_wanted) {
    std::array<Elf64_Sym, 1024> piece;
    for (std::uint64_t at = 0;; at += sizeof piece) {
        const std::size_t count = file.read(table, at, std::as_writable_bytes(std::span(piece))) / sizeof(Elf64_Sym);
        for (std::size_t i = 0; i < count; ++i)
            if (is_wanted(piece[i])) return true;
        if (count < piece.size()) return false;
    }
}

template <class Use>
void for_each_symbol(const ElfFile& file, const ElfSection& table, Use use) {
    any_symbol(file, table, [&](const Elf64_Sym& symbol) {
        use(symbol);
        return false;
    });
}

}  // namespace flameprobe
