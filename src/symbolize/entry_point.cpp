#include "symbolize/entry_point.hpp"

#include <elf.h>

#include <cstddef>
#include <cstring>

#include "symbolize/byte_cursor.hpp"

namespace flameprobe {
namespace {

// The encodings that linkers write (LSB Core, 10.5.1): anything else, and the entry point stays unnamed.
constexpr std::uint8_t pc_relative_4 = 0x1b, unsigned_4 = 0x03, data_relative_4 = 0x3b;

std::uint64_t entry_address(const ElfFile& file) {
    std::uint64_t entry = 0;
    const Bytes bytes = file.bytes().view(offsetof(Elf64_Ehdr, e_entry), sizeof entry);
    if (bytes.size() == sizeof entry) std::memcpy(&entry, bytes.data(), sizeof entry);
    return entry;
}

std::uint64_t moved(std::uint64_t from, std::uint32_t by) {
    return from + static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(by)));
}

/// Where the frame description of the function that starts at `start` lies, by .eh_frame_hdr's table; 0 if nowhere.
std::uint64_t description_of(const ElfFile& file, std::uint64_t start) {
    const ElfSection* header = file.find(".eh_frame_hdr");
    if (header == nullptr) return 0;
    ByteCursor in(file.contents(*header));
    const bool known = in.u8() == 1 && in.u8() == pc_relative_4 && in.u8() == unsigned_4 && in.u8() == data_relative_4;
    if (!known) return 0;
    in.skip(4);
    for (std::uint32_t left = in.u32(); left != 0 && in.ok(); --left) {
        const std::uint64_t location = moved(header->address, in.u32());
        const std::uint64_t description = moved(header->address, in.u32());
        if (in.ok() && location == start) return description;
    }
    return 0;
}

}  // namespace

std::optional<ElfSymbol> entry_symbol(const ElfFile& file) {
    const std::uint64_t entry = entry_address(file);
    const ElfSection* frames = file.find(".eh_frame");
    if (entry == 0 || frames == nullptr) return std::nullopt;
    if (as_text(file.contents(".dynstr")).find("__libc_start_main") == std::string_view::npos) return std::nullopt;
    const std::uint64_t description = description_of(file, entry);
    if (description < frames->address) return std::nullopt;
    // length, CIE pointer, pc begin (relative to itself), pc range
    ByteCursor in(file.contents(*frames), description - frames->address);
    in.skip(8);
    const std::uint64_t begin = moved(description + 8, in.u32());
    const std::uint32_t size = in.u32();
    if (!in.ok() || begin != entry || size == 0) return std::nullopt;
    return ElfSymbol{.start = entry, .end = entry + size, .name = "_start"};
}

}  // namespace flameprobe
