#include "collect/raw_names.hpp"

#include <cstring>

#include "profile/names.hpp"

namespace flameprobe {
namespace {

constexpr std::size_t most_headers = 65536;
constexpr std::size_t longest_name = 64 * 1024, largest_index = std::size_t{64} << 20;
// Symbols that overlap may be many; a table made for that must not hold up the collector.
constexpr std::size_t most_comparisons = 50'000'000;

/// An address of the file whose name is wanted, and what was found for it.
struct Wanted {
    std::uint64_t address = 0;
    std::size_t index = 0;  // among the offsets that were asked for
    std::uint64_t start = 0;
    unsigned rank = 0;          // 0: no symbol with a size holds the address
    std::uint64_t name = 0;     // of that symbol: offset in the file
    std::uint64_t nearest = 0;  // start of the last symbol before the address
    std::uint64_t unsized = 0;  // its name, if it has no size
};

/// Of several symbols for one address, as symbolize/symbol_table.cpp chooses: functions before labels, global names
/// before local ones.
unsigned rank_of(const Elf64_Sym& symbol) {
    const unsigned bind = ELF64_ST_BIND(symbol.st_info);
    const unsigned global = bind == STB_GLOBAL || bind == STB_GNU_UNIQUE ? 2 : bind == STB_WEAK ? 1 : 0;
    return 1 + global + (ELF64_ST_TYPE(symbol.st_info) != STT_NOTYPE ? 4 : 0);
}

bool is_no_name(std::string_view name) { return name.empty() || name.starts_with(".L"); }

std::size_t underscores(std::string_view name) { return std::min(name.find_first_not_of('_'), name.size()); }

void take_sized(const CodeSymbols& file, const Elf64_Sym& symbol, std::uint64_t name, Wanted& wanted) {
    const unsigned rank = rank_of(symbol);
    const bool same = symbol.st_value == wanted.start && rank == wanted.rank;
    const bool is_better = symbol.st_value != wanted.start ? symbol.st_value > wanted.start : rank > wanted.rank;
    const bool is_plainer = same && underscores(file.text(name)) < underscores(file.text(wanted.name));
    if (wanted.rank != 0 && !is_better && !is_plainer) return;
    wanted.start = symbol.st_value;
    wanted.rank = rank;
    wanted.name = name;
}

void take_nearest(const Elf64_Sym& symbol, std::uint64_t name, Wanted& wanted) {
    if (symbol.st_value < wanted.nearest || (symbol.st_value == wanted.nearest && wanted.unsized != 0)) return;
    wanted.nearest = symbol.st_value;
    wanted.unsized = symbol.st_size == 0 ? name : 0;
}

void look_up(const CodeSymbols& file, std::vector<Wanted>& all) {
    std::size_t left = most_comparisons;
    for (const CodeSymbols::Table& table : file.tables()) {
        file.for_each_function(table, [&](const Elf64_Sym& symbol) {
            auto at = std::ranges::lower_bound(all, symbol.st_value, {}, &Wanted::address);
            const std::uint64_t name = table.strings + symbol.st_name;
            if (at == all.end() || symbol.st_name == 0) return true;
            const bool holds = at->address - symbol.st_value < symbol.st_size;
            if (!holds && symbol.st_value < at->nearest) return true;
            if (ELF64_ST_TYPE(symbol.st_info) == STT_NOTYPE && is_no_name(file.text(name))) return true;
            take_nearest(symbol, name, *at);
            for (; at != all.end() && at->address - symbol.st_value < symbol.st_size && left != 0; ++at, --left)
                take_sized(file, symbol, name, *at);
            return left != 0;
        });
    }
    // The last symbol before an address may lie before others that are wanted.
    for (std::size_t i = 1; i < all.size(); ++i) {
        if (all[i].nearest >= all[i - 1].nearest && all[i].nearest != 0) continue;
        all[i].nearest = all[i - 1].nearest;
        all[i].unsized = all[i - 1].unsized;
    }
}

}  // namespace

CodeSymbols::CodeSymbols(const ReadFile& read) : read_(read) {
    const auto header = list<Elf64_Ehdr>(0, 1);
    if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0) return;
    header_ = header[0];
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_phentsize != sizeof(Elf64_Phdr)) return;
    segments_ = list<Elf64_Phdr>(header_.e_phoff, header_.e_phnum);
}

template <class T>
std::vector<T> CodeSymbols::list(std::uint64_t offset, std::size_t count) const {
    std::vector<T> items(std::min(count, most_headers));
    items.resize(read_(offset, std::as_writable_bytes(std::span(items))) / sizeof(T));
    return items;
}

std::optional<std::uint64_t> CodeSymbols::address_of(std::uint64_t offset) const {
    for (const Elf64_Phdr& part : segments_)
        if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0 && offset >= part.p_offset &&
            offset - part.p_offset < part.p_filesz)
            return part.p_vaddr + (offset - part.p_offset);
    return std::nullopt;
}

std::optional<std::uint64_t> CodeSymbols::offset_of(std::uint64_t address) const {
    for (const Elf64_Phdr& part : segments_)
        if (part.p_type == PT_LOAD && address >= part.p_vaddr && address - part.p_vaddr < part.p_filesz)
            return part.p_offset + (address - part.p_vaddr);
    return std::nullopt;
}

CodeSymbols::Dynamic CodeSymbols::dynamic() const {
    std::uint64_t symbols = 0, strings = 0, soname = 0;
    for (const Elf64_Phdr& part : segments_) {
        if (part.p_type != PT_DYNAMIC) continue;
        for (const Elf64_Dyn& entry : list<Elf64_Dyn>(part.p_offset, part.p_filesz / sizeof(Elf64_Dyn))) {
            if (entry.d_tag == DT_NULL) break;
            if (entry.d_tag == DT_SYMTAB) symbols = entry.d_un.d_ptr;
            if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
            if (entry.d_tag == DT_SONAME) soname = entry.d_un.d_val;
        }
    }
    const std::uint64_t texts = offset_of(strings).value_or(0);
    return {offset_of(symbols).value_or(0), texts, texts == 0 || soname == 0 ? 0 : texts + soname};
}

// Without sections only hash tables tell the number of symbols; but linkers put the strings right behind the symbols.
std::vector<CodeSymbols::Table> CodeSymbols::tables() const {
    if (header_.e_shoff == 0 || header_.e_shentsize != sizeof(Elf64_Shdr)) {
        const auto [symbols, strings, soname] = dynamic();
        if (symbols == 0 || strings <= symbols) return {};
        return {{symbols, strings - symbols, strings}};
    }
    const auto sections = list<Elf64_Shdr>(header_.e_shoff, header_.e_shnum);
    std::vector<Table> found;
    for (const Elf64_Shdr& section : sections)
        if ((section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM) && section.sh_link < sections.size())
            found.push_back({section.sh_offset, section.sh_size, sections[section.sh_link].sh_offset});
    return found;
}

std::string CodeSymbols::text(std::uint64_t offset) const {
    std::string text;
    if (offset == 0) return text;
    for (std::array<char, 256> piece; text.size() < longest_name;) {
        const std::size_t got = read_(offset + text.size(), std::as_writable_bytes(std::span(piece)));
        const std::string_view part(piece.data(), got);
        text += part.substr(0, part.find('\0'));
        if (got < piece.size() || part.find('\0') != part.npos) break;
    }
    const auto version = text.find('@');
    return version == 0 ? text : text.substr(0, version);
}

std::vector<std::byte> CodeSymbols::index_bytes(std::uint64_t& address) const {
    std::vector<std::byte> bytes;
    for (const Elf64_Phdr& part : segments_) {
        if (part.p_type != PT_GNU_EH_FRAME || part.p_filesz > largest_index) continue;
        bytes.resize(part.p_filesz);
        bytes.resize(read_(part.p_offset, bytes));
        address = part.p_vaddr;
    }
    return bytes;
}

std::optional<std::uint64_t> CodeSymbols::function_start(std::uint64_t address) {
    if (!index_) {
        std::uint64_t at_address = 0;
        index_bytes_ = index_bytes(at_address);
        index_.emplace(index_bytes_, at_address);
    }
    const auto entry = index_->entry_of(address);
    const auto at = entry ? offset_of(entry->description) : std::nullopt;
    std::array<std::byte, 16> description;
    if (!at || read_(*at, description) != description.size()) return std::nullopt;
    const auto extent = extent_of(description, entry->description, entry->start);
    return extent && address < extent->end ? std::optional(extent->start) : std::nullopt;
}

std::vector<std::string> raw_names(const ReadFile& read, std::string_view path,
                                   const std::vector<std::uint64_t>& offsets) {
    CodeSymbols file(read);
    std::vector<Wanted> all;
    for (std::size_t i = 0; i < offsets.size(); ++i)
        if (const auto address = file.address_of(offsets[i]))
            all.emplace_back().address = *address, all.back().index = i;
    std::ranges::sort(all, {}, &Wanted::address);
    look_up(file, all);
    std::vector<std::string> names(offsets.size());
    for (const Wanted& wanted : all) {
        std::string& name = names[wanted.index];
        if (wanted.rank != 0) {
            name = file.text(wanted.name);
            continue;
        }
        // The end of a symbol without a size is a guess: a function that starts after it is another one.
        const auto start = file.function_start(wanted.address);
        if (start && (wanted.unsized == 0 || wanted.nearest < *start))
            name = function_at(path, *start);
        else if (wanted.unsized != 0)
            name = file.text(wanted.unsized);
    }
    return names;
}

}  // namespace flameprobe
