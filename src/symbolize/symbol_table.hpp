// Functions by address, from the ELF symbol tables of one module and from what else names them.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "symbolize/elf_file.hpp"

namespace flameprobe {

struct ElfSymbol {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::string_view name;  // as in the table, mangled; a version (`@GLIBC_2.2.5`) cut off
    bool sized = true;      // false: its end is a guess, from the next symbol
    std::uint8_t rank = 0;  // the higher, the better a name among several for one address
};

/// Filled by one thread, then only read. Names are views into the files they came from, which must live as long.
class SymbolTable {
public:
    /// Keeps everything.
    SymbolTable() = default;
    /// Of the tables, keeps what find() needs for these addresses of the file.
    explicit SymbolTable(std::vector<std::uint64_t> addresses);

    /// Adds the functions of `.symtab` or `.dynsym`.
    void add_table(const ElfFile& file, std::string_view section);
    void add(ElfSymbol symbol) { symbols_.push_back(symbol); }
    /// Stores a made-up name (`strlen@plt`), of which no file has the text.
    std::string_view keep(std::string name) { return kept_.emplace_back(std::move(name)); }
    /// Sorts, keeps the best name for each address and gives symbols without a size the room up to the next one.
    /// Call once, after the last add; `file` tells where sections end.
    void finish(const ElfFile& file);

    /// False where no address of a section is looked for.
    bool needs(const ElfSection& section) const;
    /// The innermost symbol whose range has the address, or null.
    const ElfSymbol* find(std::uint64_t address) const;
    /// The one that begins at the address, or null.
    const ElfSymbol* starting_at(std::uint64_t address) const;
    const std::vector<ElfSymbol>& all() const { return symbols_; }

private:
    void extend_unsized(const ElfFile& file);

    std::optional<std::vector<std::uint64_t>> addresses_;  // sorted
    std::vector<ElfSymbol> symbols_;                       // sorted by start
    std::vector<std::uint64_t> reach_;                     // the greatest end among symbols_[0..i]
    std::deque<std::string> kept_;
};

/// Adds `name@plt` for every stub, by the relocation of the slot that the stub jumps through. Files for a CPU without a
/// PltFormat are left as they are.
void add_plt_stubs(const ElfFile& file, SymbolTable& symbols);
/// The functions of the file that choose another at load time (STT_GNU_IFUNC), for which stubs are named.
std::vector<std::uint64_t> plt_resolvers(const ElfFile& file);

/// Adds the functions of `.gopclntab` as of Go 1.18 and later (runtime/symtab.go: pcHeader, _func); nothing where the
/// file has no such table, or where the start of the code is not known. Never reads outside of the table, whatever it
/// holds.
void add_go_functions(const ElfFile& file, SymbolTable& symbols);

}  // namespace flameprobe
