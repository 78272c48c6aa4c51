#include "symbolize/symbol_table.hpp"

#include <elf.h>

namespace flameprobe {

namespace {

constexpr int most_symbol_overlaps = 4096;  // a hostile table could otherwise make every look-up walk all of it

/// Among names for one address: a function before a bare label, one with a size before one without, global before weak
/// before local, few leading underscores before many (`memcpy` before `__memcpy`). What perf prefers, in this order.
std::uint8_t rank_of(const Elf64_Sym& symbol, std::string_view name) {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info), bind = ELF64_ST_BIND(symbol.st_info);
    const auto underscores = std::min<std::size_t>(name.find_first_not_of('_'), 7);
    unsigned rank = 7 - static_cast<unsigned>(underscores);
    if (bind == STB_GLOBAL || bind == STB_GNU_UNIQUE)
        rank += 2 << 3;
    else if (bind == STB_WEAK)
        rank += 1 << 3;
    if (symbol.st_size != 0) rank += 1 << 5;
    if (type != STT_NOTYPE) rank += 1 << 6;
    return static_cast<std::uint8_t>(rank);
}

bool is_code(const Elf64_Sym& symbol) {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    return symbol.st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

/// A compiler's own label.
bool is_no_name(std::string_view name) { return name.empty() || name.starts_with(".L"); }

std::uint64_t end_of(const Elf64_Sym& symbol) {
    const std::uint64_t room = ~symbol.st_value;
    return symbol.st_value + std::min<std::uint64_t>(symbol.st_size, room);
}

template <class Use>
void for_each_code_symbol(const ElfFile& file, const ElfSection& table, Use use) {
    for_each_symbol(file, table, [&](const Elf64_Sym& symbol) {
        if (is_code(symbol)) use(symbol);
    });
}

/// `.dynsym` and hand-written `.symver` append versions to names: `memcpy@@GLIBC_2.14`.
std::string_view without_version(std::string_view name) {
    const auto at = name.find('@');
    return at == 0 || at == name.npos ? name : name.substr(0, at);
}

bool before(const ElfSymbol& a, const ElfSymbol& b) {
    if (a.start != b.start) return a.start < b.start;
    if (a.rank != b.rank) return a.rank > b.rank;
    if (a.end != b.end) return a.end > b.end;
    return a.name < b.name;
}

}  // namespace

SymbolTable::SymbolTable(std::vector<std::uint64_t> addresses) : addresses_(std::move(addresses)) {
    std::ranges::sort(*addresses_);
}

bool SymbolTable::needs(const ElfSection& section) const {
    if (!addresses_) return true;
    const auto next = std::ranges::lower_bound(*addresses_, section.address);
    return next != addresses_->end() && *next - section.address < section.size;
}

void SymbolTable::add_table(const ElfFile& file, std::string_view section_name) {
    const ElfSection *const table = file.find(section_name), *const linked = file.linked_to(table);
    if (linked == nullptr) return;
    const ElfSection& names = *linked;
    const auto add_one = [&](const Elf64_Sym& symbol) {
        const std::string_view name = without_version(file.text(names, symbol.st_name));
        if (is_no_name(name)) return;
        symbols_.push_back({symbol.st_value, end_of(symbol), name, symbol.st_size != 0, rank_of(symbol, name)});
    };
    if (!addresses_) return for_each_code_symbol(file, *table, add_one);
    NearSymbols near(*addresses_);
    for_each_code_symbol(file, *table, [&](const Elf64_Sym& symbol) {
        const bool is_typed = ELF64_ST_TYPE(symbol.st_info) != STT_NOTYPE;
        if (is_typed || !is_no_name(file.text(names, symbol.st_name))) near.add(symbol.st_value, end_of(symbol));
    });
    const SortedAddresses starts(near.starts());
    for_each_code_symbol(file, *table, [&](const Elf64_Sym& symbol) {
        if (starts.has(symbol.st_value)) add_one(symbol);
    });
}

void SymbolTable::finish(const ElfFile& file) {
    std::ranges::sort(symbols_, [](const ElfSymbol& a, const ElfSymbol& b) { return before(a, b); });
    const auto same_start = [](const ElfSymbol& a, const ElfSymbol& b) { return a.start == b.start; };
    symbols_.erase(std::unique(symbols_.begin(), symbols_.end(), same_start), symbols_.end());
    extend_unsized(file);
    reach_.reserve(symbols_.size());
    std::uint64_t reach = 0;
    for (const ElfSymbol& symbol : symbols_) reach_.push_back(reach = std::max(reach, symbol.end));
}

/// Assembly often leaves the size out. Such a symbol reaches to the next one, but not out of its section; a label in
/// the middle of a function that has a size names nothing.
void SymbolTable::extend_unsized(const ElfFile& file) {
    std::uint64_t reach = 0;
    const ElfSection* section = nullptr;
    for (std::size_t i = 0; i < symbols_.size(); ++i) {
        ElfSymbol& symbol = symbols_[i];
        if (symbol.end > symbol.start) {
            reach = std::max(reach, symbol.end);
            continue;
        }
        if (symbol.start < reach) continue;
        if (section == nullptr || symbol.start - section->address >= section->size)
            section = file.code_section(symbol.start);
        if (section == nullptr) continue;
        symbol.end = section->address + section->size;
        if (i + 1 < symbols_.size()) symbol.end = std::min(symbol.end, symbols_[i + 1].start);
    }
    std::erase_if(symbols_, [](const ElfSymbol& symbol) { return symbol.end <= symbol.start; });
}

const ElfSymbol* SymbolTable::find(std::uint64_t address) const {
    const auto after = std::ranges::upper_bound(symbols_, address, {}, &ElfSymbol::start);
    int steps = most_symbol_overlaps;
    for (auto i = static_cast<std::size_t>(after - symbols_.begin()); i-- > 0 && reach_[i] > address && steps-- > 0;)
        if (symbols_[i].end > address) return &symbols_[i];
    return nullptr;
}

const ElfSymbol* SymbolTable::starting_at(std::uint64_t address) const {
    const auto at = std::ranges::lower_bound(symbols_, address, {}, &ElfSymbol::start);
    return at != symbols_.end() && at->start == address ? &*at : nullptr;
}

}  // namespace flameprobe
