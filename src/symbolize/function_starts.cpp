#include "symbolize/function_starts.hpp"

#include <elf.h>

#include <array>
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

FunctionStarts::FunctionStarts(const ElfFile& file)
    : file_(&file),
      index_(file.bytes().view(file.frame_index().offset, file.frame_index().file_size), file.frame_index().address) {}

std::optional<FunctionExtent> FunctionStarts::find(std::uint64_t address) const {
    const auto entry = index_.entry_of(address);
    if (!entry) return std::nullopt;
    const auto at = file_->offset_of(entry->description);
    std::array<std::byte, 16> description;
    if (!at || !file_->bytes().read_into(*at, description)) return std::nullopt;
    const auto extent = extent_of(description, entry->description, entry->start);
    return extent && address < extent->end ? extent : std::nullopt;
}

std::optional<ElfSymbol> entry_symbol(const ElfFile& file, const FunctionStarts& functions) {
    const std::uint64_t entry = entry_address(file);
    if (entry == 0) return std::nullopt;
    if (as_text(file.contents(".dynstr")).find("__libc_start_main") == std::string_view::npos) return std::nullopt;
    const auto function = functions.find(entry);
    if (!function || function->start != entry) return std::nullopt;
    return ElfSymbol{.start = function->start, .end = function->end, .name = "_start"};
}

}  // namespace flameprobe
