// What the symbol tables of an ELF file say about its code: for files that whoever reads the profile will not find.
#pragma once

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_index.hpp"

namespace flameprobe {

/// Copies what lies at an offset of the file; gives how many bytes there were.
using ReadFile = std::function<std::size_t(std::uint64_t offset, std::span<std::byte> out)>;

/// The tables of one file, read piece by piece; nothing of a file that is damaged.
class CodeSymbols {
public:
    /// `read` must outlive it.
    explicit CodeSymbols(const ReadFile& read);

    /// Where the loader puts a file offset, by the executable segment that holds it.
    std::optional<std::uint64_t> address_of(std::uint64_t offset) const;
    /// "libc.so.6"; empty where the file does not say it.
    std::string soname() const { return text(dynamic().soname); }
    /// The function that holds the address, by the unwind tables.
    std::optional<std::uint64_t> function_start(std::uint64_t address);
    /// The unwind tables' index of functions: its bytes and their address.
    std::vector<std::byte> index_bytes(std::uint64_t& address) const;

    struct Table {
        std::uint64_t symbols = 0, size = 0, strings = 0;  // offsets in the file
    };
    /// `.dynsym` and `.symtab`; of a copy from memory, which has no sections, what PT_DYNAMIC leads to.
    std::vector<Table> tables() const;
    /// Without the version that some have behind an @. `offset`: in the file.
    std::string text(std::uint64_t offset) const;
    template <class Use>
    void for_each_function(const Table& table, Use use) const {
        std::array<Elf64_Sym, 1024> piece;
        for (std::uint64_t at = 0; at < table.size; at += sizeof piece) {
            const std::size_t most = std::min<std::uint64_t>(sizeof piece, table.size - at);
            const std::size_t got =
                read_(table.symbols + at, std::as_writable_bytes(std::span(piece)).first(most)) / sizeof(Elf64_Sym);
            for (std::size_t i = 0; i < got; ++i) {
                const unsigned type = ELF64_ST_TYPE(piece[i].st_info);
                const bool is_code = type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
                if (is_code && piece[i].st_shndx != SHN_UNDEF && !use(piece[i])) return;
            }
            if (got < piece.size()) return;
        }
    }

private:
    struct Dynamic {
        std::uint64_t symbols = 0, strings = 0, soname = 0;  // offsets in the file; 0: none
    };
    Dynamic dynamic() const;
    template <class T>
    std::vector<T> list(std::uint64_t offset, std::size_t count) const;
    std::optional<std::uint64_t> offset_of(std::uint64_t address) const;

    const ReadFile& read_;
    Elf64_Ehdr header_{};
    std::vector<Elf64_Phdr> segments_;
    std::vector<std::byte> index_bytes_;
    std::optional<FunctionIndex> index_;
};

/// For each of these offsets of code in the file the function's name as the tables have it, not demangled; where only
/// unwind tables know the function, `[FILE+0x1a2b40]`; empty where nothing does. Debug information is not read.
std::vector<std::string> raw_names(const ReadFile& read, std::string_view path,
                                   const std::vector<std::uint64_t>& offsets);

}  // namespace flameprobe
