#include "symbolize/elf_dynamic.hpp"

#include <elf.h>

#include <algorithm>
#include <optional>

#include "symbolize/byte_cursor.hpp"

namespace flameprobe {

namespace {

struct Dynamic {
    std::uint64_t symbols = 0, strings = 0, strings_size = 0;
};

Dynamic read_dynamic(Bytes table) {
    Dynamic dynamic;
    for (ByteCursor cursor(table); cursor.remaining() >= sizeof(Elf64_Dyn);) {
        const std::uint64_t tag = cursor.u64(), value = cursor.u64();
        if (tag == DT_NULL) break;
        if (tag == DT_SYMTAB) dynamic.symbols = value;
        if (tag == DT_STRTAB) dynamic.strings = value;
        if (tag == DT_STRSZ) dynamic.strings_size = value;
    }
    return dynamic;
}

std::optional<std::uint64_t> offset_of(const std::vector<ElfSegment>& segments, std::uint64_t address) {
    for (const ElfSegment& segment : segments)
        if (address >= segment.address && address - segment.address < segment.file_size)
            return address - segment.address + segment.offset;
    return std::nullopt;
}

}  // namespace

std::vector<ElfSection> sections_from_dynamic(const FileBytes& bytes, const std::vector<ElfSegment>& segments,
                                              std::uint64_t offset, std::uint64_t size) {
    const Dynamic dynamic = read_dynamic(bytes.view(offset, size));
    const auto symbols = offset_of(segments, dynamic.symbols), strings = offset_of(segments, dynamic.strings);
    // Nothing tells how many symbols there are but hash tables; linkers put the strings right behind them.
    if (!symbols || !strings || *strings <= *symbols) return {};
    std::vector<ElfSection> sections(2);
    sections[0] = {".dynsym", SHT_DYNSYM, SHF_ALLOC, dynamic.symbols, *symbols, *strings - *symbols, 1};
    sections[1] = {".dynstr", SHT_STRTAB, SHF_ALLOC, dynamic.strings, *strings, dynamic.strings_size, 0};
    for (const ElfSegment& segment : segments)
        if (segment.executable)
            sections.push_back({".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, segment.address, segment.offset,
                                segment.file_size, 0});
    return sections;
}

}  // namespace flameprobe
