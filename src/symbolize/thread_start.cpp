#include <elf.h>

#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include "symbolize/elf_file.hpp"
#include "symbolize/module.hpp"
#include "symbolize/symbol_table.hpp"

namespace flameprobe {

namespace {

/// `_M_start_thread(..., void (*)())`, of both layouts of a thread's state.
constexpr std::string_view starter = "_ZNSt6thread15_M_start_thread", its_end = "PFvvE";
constexpr std::uint64_t most_code = 4096;

std::uint64_t relative(Bytes code, std::size_t at, std::uint64_t address) {
    std::int32_t distance = 0;
    std::memcpy(&distance, code.data() + at, sizeof distance);
    return address + at + sizeof distance + static_cast<std::uint64_t>(std::int64_t{distance});
}

bool is_pthread_create(const ElfFile& file, std::uint64_t address) {
    SymbolTable stubs({address});
    add_plt_stubs(file, stubs);
    stubs.finish(file);
    const ElfSymbol* const stub = stubs.find(address);
    return stub != nullptr && stub->name == "pthread_create@plt";
}

// `lea start(%rip), %rdx`, and at most 16 bytes further the call: rdx is the third argument.
std::optional<std::uint64_t> passed_to_pthread_create(const ElfFile& file, Bytes code, std::uint64_t address) {
    constexpr std::array<std::byte, 3> lea{std::byte{0x48}, std::byte{0x8d}, std::byte{0x15}};
    constexpr std::size_t lea_size = 7, call_size = 5, near = 16;
    for (std::size_t at = 0; at + lea_size <= code.size(); ++at) {
        if (std::memcmp(code.data() + at, lea.data(), lea.size()) != 0) continue;
        for (std::size_t call = at + lea_size; call <= at + lea_size + near && call + call_size <= code.size(); ++call)
            if (code[call] == std::byte{0xe8} && is_pthread_create(file, relative(code, call + 1, address)))
                return relative(code, at + lea.size(), address);
    }
    return std::nullopt;
}

}  // namespace

std::vector<std::uint64_t> thread_starts(const ElfFile& file, const FunctionStarts& functions) {
    std::vector<std::uint64_t> starts;
    const ElfSection *const table = file.find(".dynsym"), *const names = file.linked_to(table);
    if (file.machine() != EM_X86_64 || names == nullptr) return starts;
    for_each_symbol(file, *table, [&](const Elf64_Sym& symbol) {
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0 || symbol.st_size > most_code) return;
        const std::string_view name = file.text(*names, symbol.st_name);
        if (!name.starts_with(starter) || !name.ends_with(its_end)) return;
        const auto at = file.offset_of(symbol.st_value);
        const Bytes code = at ? file.bytes().view(*at, symbol.st_size) : Bytes();
        const auto start = passed_to_pthread_create(file, code, symbol.st_value);
        const auto function = start ? functions.find(*start) : std::nullopt;
        if (function && function->start == *start) starts.push_back(*start);
    });
    return starts;
}

}  // namespace flameprobe
