// Names for the stubs through which a module calls others.
#include <elf.h>

#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/byte_reader.hpp"
#include "symbolize/plt_format.hpp"
#include "symbolize/symbol_table.hpp"

namespace flameprobe {

namespace {

struct Slots {
    std::unordered_map<std::uint64_t, std::string> by_address;  // of the GOT slot
    std::vector<std::string> by_index;                          // in .rela.plt: what a lazy stub pushes
};

std::string symbol_name(Bytes symbols, Bytes names, std::uint64_t index) {
    Elf64_Sym symbol{};
    if (index == 0 || index >= symbols.size() / sizeof symbol) return {};
    std::memcpy(&symbol, symbols.data() + index * sizeof symbol, sizeof symbol);
    return std::string(ByteReader(names, symbol.st_name).text());
}

/// A slot for an STT_GNU_IFUNC of the module itself has no symbol; its addend is the address of the resolver.
std::string slot_name(const Elf64_Rela& relocation, const PltFormat& format, Bytes symbols, Bytes names,
                      const std::unordered_map<std::uint64_t, std::string_view>& resolvers) {
    if (ELF64_R_TYPE(relocation.r_info) != format.resolver_relocation)
        return symbol_name(symbols, names, ELF64_R_SYM(relocation.r_info));
    const auto found = resolvers.find(static_cast<std::uint64_t>(relocation.r_addend));
    return found == resolvers.end() ? std::string{} : std::string(found->second);
}

std::unordered_map<std::uint64_t, std::string_view> find_resolvers(const ElfFile& file, const SymbolTable& symbols) {
    std::unordered_map<std::uint64_t, std::string_view> resolvers;
    for (const std::uint64_t address : plt_resolvers(file)) resolvers.emplace(address, std::string_view{});
    if (resolvers.empty()) return resolvers;
    for (const ElfSymbol& symbol : symbols.all())
        if (const auto found = resolvers.find(symbol.start); found != resolvers.end()) found->second = symbol.name;
    return resolvers;
}

Slots read_slots(const ElfFile& file, const PltFormat& format, const SymbolTable& symbol_table) {
    Slots slots;
    const auto resolvers = find_resolvers(file, symbol_table);
    for (const std::string_view section_name : {".rela.plt", ".rela.dyn"}) {
        const ElfSection* section = file.find(section_name);
        if (section == nullptr || section->type != SHT_RELA) continue;
        const ElfSection *const table = file.linked_to(section), *const linked = file.linked_to(table);
        const Bytes symbols = linked != nullptr ? file.contents(*table) : Bytes{};
        const Bytes names = linked != nullptr ? file.contents(*linked) : Bytes{};
        const Bytes relocations = file.contents(*section);
        Elf64_Rela relocation{};
        for (std::size_t at = 0; at + sizeof relocation <= relocations.size(); at += sizeof relocation) {
            std::memcpy(&relocation, relocations.data() + at, sizeof relocation);
            const bool is_plt = section_name == ".rela.plt";
            if (!is_plt && ELF64_R_TYPE(relocation.r_info) != format.slot_relocation) continue;
            std::string name = slot_name(relocation, format, symbols, names, resolvers);
            if (is_plt) slots.by_index.push_back(name);
            if (!name.empty()) slots.by_address.emplace(relocation.r_offset, std::move(name));
        }
    }
    return slots;
}

std::string target_name(const PltTarget& target, const Slots& slots) {
    if (target.slot) {
        const auto found = slots.by_address.find(*target.slot);
        return found == slots.by_address.end() ? std::string{} : found->second;
    }
    return target.index && *target.index < slots.by_index.size() ? slots.by_index[*target.index] : std::string{};
}

void add_stubs(const ElfFile& file, const PltFormat& format, const ElfSection& section, const Slots& slots,
               SymbolTable& symbols) {
    constexpr std::uint8_t best_rank = 255;
    const Bytes code = file.contents(section);
    const PltShape shape = format.shape(section.name, code);
    const auto add = [&](std::size_t at, std::size_t size, const std::string& name) {
        const std::uint64_t address = section.address + at;
        if (!name.empty()) symbols.add({address, address + size, symbols.keep(name + "@plt"), true, best_rank});
    };
    if (shape.stub == 0) return;
    if (shape.first != 0 && shape.first <= code.size()) add(0, shape.first, "_dl_runtime_resolve");
    for (std::size_t at = shape.first; at + shape.stub <= code.size(); at += shape.stub)
        add(at, shape.stub, target_name(format.target(code.subspan(at, shape.stub), section.address + at), slots));
}

const PltFormat* format_of(const ElfFile& file) {
    for (const PltFormat* format : {&plt_format_x86_64, &plt_format_aarch64})
        if (format->machine == file.machine()) return format;
    return nullptr;
}

}  // namespace

std::vector<std::uint64_t> plt_resolvers(const ElfFile& file) {
    std::vector<std::uint64_t> resolvers;
    const PltFormat* const format = format_of(file);
    if (format == nullptr) return resolvers;
    const Bytes relocations = file.contents(".rela.plt");
    Elf64_Rela relocation{};
    for (std::size_t at = 0; at + sizeof relocation <= relocations.size(); at += sizeof relocation) {
        std::memcpy(&relocation, relocations.data() + at, sizeof relocation);
        if (ELF64_R_TYPE(relocation.r_info) == format->resolver_relocation)
            resolvers.push_back(static_cast<std::uint64_t>(relocation.r_addend));
    }
    return resolvers;
}

void add_plt_stubs(const ElfFile& file, SymbolTable& symbols) {
    const PltFormat* const format = format_of(file);
    if (format == nullptr) return;
    std::vector<const ElfSection*> needed;
    for (const std::string_view name : format->sections)
        if (const ElfSection* const section = file.find(name); section != nullptr && symbols.needs(*section))
            needed.push_back(section);
    if (needed.empty()) return;
    const Slots slots = read_slots(file, *format, symbols);
    for (const ElfSection* const section : needed) add_stubs(file, *format, *section, slots, symbols);
}

}  // namespace flameprobe
