// Functions by address, from the ELF symbol tables of one module and from what else names them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

// Which functions of a symbol table can name one of some addresses, told without sorting the table or reading its
// names: a compiler exports thirty thousand functions, and its picture needs fifty.

/// Addresses in order, in which others are looked up by the million.
/// A look-up takes a fraction of a binary search's time where they are spread: a table tells which of them lie in the
/// same part of their range.
class SortedAddresses {
public:
    /// `addresses`: sorted.
    explicit SortedAddresses(std::vector<std::uint64_t> addresses) : all_(std::move(addresses)) {
        if (all_.empty()) return;
        while ((all_.back() - all_.front()) >> shift_ >= parts) ++shift_;
        for (std::size_t part = 0, next = 0; part <= parts; ++part) {
            while (next < all_.size() && (all_[next] - all_.front()) >> shift_ < part) ++next;
            first_[part] = static_cast<std::uint32_t>(next);
        }
    }

    std::size_t size() const { return all_.size(); }
    std::uint64_t operator[](std::size_t index) const { return all_[index]; }
    /// The first one that is `address` or above it; size() if there is none.
    std::size_t first_from(std::uint64_t address) const {
        if (all_.empty() || address > all_.back()) return all_.size();
        if (address <= all_.front()) return 0;
        const std::size_t part = (address - all_.front()) >> shift_;
        const auto begin = all_.begin();
        return static_cast<std::size_t>(std::lower_bound(begin + first_[part], begin + first_[part + 1], address) -
                                        begin);
    }
    bool has(std::uint64_t address) const {
        const std::size_t i = first_from(address);
        return i < all_.size() && all_[i] == address;
    }

private:
    std::vector<std::uint64_t> all_;
    unsigned shift_ = 0;
    static constexpr std::size_t parts = 1024;
    std::array<std::uint32_t, parts + 1> first_{};  // of each part of the range, in all_
};

class NearSymbols {
public:
    /// `addresses`: sorted.
    explicit NearSymbols(std::vector<std::uint64_t> addresses)
        : addresses_(std::move(addresses)), gaps_(addresses_.size()) {}

    /// Call for every function of the table, in any order. `end` is `start` where the table tells no size.
    void add(std::uint64_t start, std::uint64_t end) {
        const std::size_t next = addresses_.first_from(start);
        if (next == addresses_.size()) return;
        if (addresses_[next] < end) {
            holding_.push_back(start);
            return;
        }
        Gap& gap = gaps_[next];
        if (gap.empty || start > gap.last) gap.last = start;
        if (gap.empty || end > gap.reach) {
            gap.reach = end;
            gap.reaching = start;
        }
        gap.empty = false;
    }
    /// Where those begin that hold an address or are the last before one, and those that reach farthest towards one: in
    /// them a label without a size names nothing. Sorted.
    std::vector<std::uint64_t> starts() const {
        std::vector<std::uint64_t> all = holding_;
        for (const Gap& gap : gaps_)
            if (!gap.empty) all.insert(all.end(), {gap.last, gap.reaching});
        std::ranges::sort(all);
        all.erase(std::unique(all.begin(), all.end()), all.end());
        return all;
    }

private:
    /// Of the functions that lie between two neighbours among the addresses.
    struct Gap {
        bool empty = true;
        std::uint64_t last = 0;                 // start of the last
        std::uint64_t reach = 0, reaching = 0;  // the greatest end, and where that one starts
    };

    const SortedAddresses addresses_;
    std::vector<Gap> gaps_;  // before each address
    std::vector<std::uint64_t> holding_;
};

}  // namespace flameprobe
