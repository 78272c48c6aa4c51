#include "symbolize/plt.hpp"

#include <elf.h>

#include <cstring>
#include <string>
#include <unordered_map>

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
    if (symbol.st_name >= names.size()) return {};
    const char* text = as_text(names).data() + symbol.st_name;
    return {text, ::strnlen(text, names.size() - symbol.st_name)};
}

/// A slot for an STT_GNU_IFUNC of the module itself has no symbol; its addend is the address of the resolver.
std::string slot_name(const Elf64_Rela& relocation, Bytes symbols, Bytes names,
                      const std::unordered_map<std::uint64_t, std::string_view>& resolvers) {
    if (ELF64_R_TYPE(relocation.r_info) != R_X86_64_IRELATIVE)
        return symbol_name(symbols, names, ELF64_R_SYM(relocation.r_info));
    const auto found = resolvers.find(static_cast<std::uint64_t>(relocation.r_addend));
    return found == resolvers.end() ? std::string{} : std::string(found->second);
}

std::unordered_map<std::uint64_t, std::string_view> find_resolvers(const ElfFile& file, const SymbolTable& symbols) {
    std::unordered_map<std::uint64_t, std::string_view> resolvers;
    const Bytes relocations = file.contents(".rela.plt");
    Elf64_Rela relocation{};
    for (std::size_t at = 0; at + sizeof relocation <= relocations.size(); at += sizeof relocation) {
        std::memcpy(&relocation, relocations.data() + at, sizeof relocation);
        if (ELF64_R_TYPE(relocation.r_info) == R_X86_64_IRELATIVE)
            resolvers.emplace(static_cast<std::uint64_t>(relocation.r_addend), std::string_view{});
    }
    if (resolvers.empty()) return resolvers;
    for (const ElfSymbol& symbol : symbols.all())
        if (const auto found = resolvers.find(symbol.start); found != resolvers.end()) found->second = symbol.name;
    return resolvers;
}

Slots read_slots(const ElfFile& file, const SymbolTable& symbol_table) {
    Slots slots;
    const auto resolvers = find_resolvers(file, symbol_table);
    for (const std::string_view section_name : {".rela.plt", ".rela.dyn"}) {
        const ElfSection* section = file.find(section_name);
        if (section == nullptr || section->type != SHT_RELA) continue;
        const ElfSection* table = section->link < file.sections().size() ? &file.sections()[section->link] : nullptr;
        const bool named = table != nullptr && table->link < file.sections().size();
        const Bytes symbols = named ? file.contents(*table) : Bytes{};
        const Bytes names = named ? file.contents(file.sections()[table->link]) : Bytes{};
        const Bytes relocations = file.contents(*section);
        Elf64_Rela relocation{};
        for (std::size_t at = 0; at + sizeof relocation <= relocations.size(); at += sizeof relocation) {
            std::memcpy(&relocation, relocations.data() + at, sizeof relocation);
            const bool is_plt = section_name == ".rela.plt";
            if (!is_plt && ELF64_R_TYPE(relocation.r_info) != R_X86_64_GLOB_DAT) continue;
            std::string name = slot_name(relocation, symbols, names, resolvers);
            if (is_plt) slots.by_index.push_back(name);
            if (!name.empty()) slots.by_address.emplace(relocation.r_offset, std::move(name));
        }
    }
    return slots;
}

std::uint32_t word_at(Bytes code, std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, code.data() + at, sizeof value);
    return value;
}

/// What a stub of `size` bytes leads to: `jmp *slot(%rip)` (ff 25), or, where .plt.sec has the jump, `endbr64; push
/// index` (68) in .plt.
std::string stub_target(Bytes stub, std::uint64_t address, const Slots& slots) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned>(stub[at]); };
    for (std::size_t at = 0; at + 6 <= stub.size(); ++at) {
        if (byte(at) != 0xff || byte(at + 1) != 0x25) continue;
        const auto distance = static_cast<std::int32_t>(word_at(stub, at + 2));
        const auto found = slots.by_address.find(address + at + 6 + static_cast<std::uint64_t>(std::int64_t{distance}));
        return found == slots.by_address.end() ? std::string{} : found->second;
    }
    constexpr std::size_t push_at = 4;  // behind endbr64
    if (stub.size() >= push_at + 5 && word_at(stub, 0) == 0xfa1e0ff3 && byte(push_at) == 0x68) {
        const std::uint32_t index = word_at(stub, push_at + 1);
        if (index < slots.by_index.size()) return slots.by_index[index];
    }
    return {};
}

void add_stubs(const ElfFile& file, std::string_view section_name, std::size_t stub_size, const Slots& slots,
               SymbolTable& symbols) {
    constexpr std::uint8_t best_rank = 255;
    const ElfSection* section = file.find(section_name);
    if (section == nullptr) return;
    const Bytes code = file.contents(*section);
    for (std::size_t at = 0; at + stub_size <= code.size(); at += stub_size) {
        const std::uint64_t address = section->address + at;
        std::string target = stub_target(code.subspan(at, stub_size), address, slots);
        // The first entry of .plt, which the others jump to, calls the dynamic linker's resolver.
        if (target.empty() && at == 0 && section_name == ".plt") target = "_dl_runtime_resolve";
        if (target.empty()) continue;
        symbols.add({address, address + stub_size, symbols.keep(target + "@plt"), true, best_rank});
    }
}

}  // namespace

void add_plt_stubs(const ElfFile& file, SymbolTable& symbols) {
    const Slots slots = read_slots(file, symbols);
    add_stubs(file, ".plt", 16, slots, symbols);
    add_stubs(file, ".plt.sec", 16, slots, symbols);
    // 8 bytes a stub without IBT, 16 with it (the x86-64 back end of GNU ld).
    const Bytes got_stubs = file.contents(".plt.got");
    const bool ibt = got_stubs.size() >= 4 && word_at(got_stubs, 0) == 0xfa1e0ff3;
    add_stubs(file, ".plt.got", ibt ? 16 : 8, slots, symbols);
}

}  // namespace flameprobe
