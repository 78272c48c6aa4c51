#include "symbolize/entry_point.hpp"

#include <elf.h>

#include <cstddef>
#include <cstring>

namespace flameprobe {
namespace {

std::uint64_t entry_address(const ElfFile& file) {
    std::uint64_t entry = 0;
    const Bytes bytes = file.bytes().view(offsetof(Elf64_Ehdr, e_entry), sizeof entry);
    if (bytes.size() == sizeof entry) std::memcpy(&entry, bytes.data(), sizeof entry);
    return entry;
}

}  // namespace

std::optional<ElfSymbol> entry_symbol(const ElfFile& file, const FunctionStarts& functions) {
    const std::uint64_t entry = entry_address(file);
    if (entry == 0) return std::nullopt;
    if (as_text(file.contents(".dynstr")).find("__libc_start_main") == std::string_view::npos) return std::nullopt;
    const auto function = functions.find(entry);
    if (!function || function->start != entry) return std::nullopt;
    return ElfSymbol{.start = function->start, .end = function->end, .name = "_start"};
}

}  // namespace flameprobe
