#include "unwind/cfi_entry.hpp"

#include <dwarf.h>

namespace flameprobe {
namespace {

/// A number of the size that an encoding has; nothing for what is no encoding.
std::optional<std::uint64_t> encoded_number(ByteReader& in, unsigned encoding) {
    const auto sign_extended = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
    switch (encoding & 0x0f) {
        case DW_EH_PE_absptr:
        case DW_EH_PE_udata8:
        case DW_EH_PE_sdata8:
            return in.u64();
        case DW_EH_PE_uleb128:
            return in.varint();
        case DW_EH_PE_udata2:
            return in.fixed<std::uint16_t>();
        case DW_EH_PE_udata4:
            return in.u32();
        case DW_EH_PE_sleb128:
            return sign_extended(in.sleb128());
        case DW_EH_PE_sdata2:
            return sign_extended(in.fixed<std::int16_t>());
        case DW_EH_PE_sdata4:
            return sign_extended(in.fixed<std::int32_t>());
        default:
            return std::nullopt;
    }
}

/// What the letters of an augmentation announce, behind its length if that starts with 'z'. 'B', 'G': how return
/// addresses are signed and memory is tagged on aarch64, which no walk has to know. False: a letter without 'z' is not
/// known, and so the size of what it stands for.
bool read_augmentation(std::string_view letters, ByteReader& in, CfiCommon& out) {
    constexpr unsigned applied = 0x70;
    for (const char letter : letters.substr(out.sized ? 1 : 0)) {
        if (letter == 'R') {
            out.encoding = in.u8();
        } else if (letter == 'P') {
            const unsigned encoding = in.u8();
            if ((encoding & applied) == DW_EH_PE_aligned || !encoded_number(in, encoding)) return false;
        } else if (letter == 'L') {
            in.u8();
        } else if (letter == 'S') {
            out.is_signal_frame = true;
        } else if (letter != 'B' && letter != 'G') {
            return out.sized;
        }
    }
    return true;
}

}  // namespace

std::optional<std::uint64_t> CfiSection::pointer(ByteReader& in, std::span<const std::byte> read,
                                                 unsigned encoding) const {
    const auto place = address + static_cast<std::uint64_t>(read.data() - bytes.data()) + in.position();
    const unsigned applied = encoding & ~0x0fU;
    if (applied != DW_EH_PE_absptr && applied != DW_EH_PE_pcrel) return std::nullopt;
    const auto number = encoded_number(in, encoding);
    if (!number || !in.ok()) return std::nullopt;
    return applied == DW_EH_PE_pcrel ? place + *number : *number;
}

std::optional<CfiHeader> CfiHeader::at(const CfiSection& section, std::uint64_t offset) {
    constexpr std::uint32_t is_longer = 0xffffffff;
    ByteReader in(section.bytes, offset);
    std::uint64_t length = in.u32();
    const bool wide = length == is_longer;
    if (wide) length = in.u64();
    if (!in.ok() || length > in.remaining() || length > longest) return std::nullopt;
    CfiHeader header;
    const std::uint64_t id_at = in.position();
    header.end = id_at + length;
    if (length == 0) return header;
    const std::uint64_t id = wide ? in.u64() : in.u32();
    header.body = in.position();
    if (!in.ok() || header.body > header.end) return std::nullopt;
    const std::uint64_t common_id = !section.is_debug_frame ? 0 : wide ? ~std::uint64_t{0} : is_longer;
    header.kind = id == common_id ? Kind::common : Kind::description;
    header.common = section.is_debug_frame ? id : id_at - id;
    return header;
}

std::optional<CfiCommon> cfi_common_at(const CfiSection& section, std::uint64_t offset) {
    const auto header = CfiHeader::at(section, offset);
    constexpr std::uint64_t longest = 4096;
    if (!header || header->kind != CfiHeader::Kind::common || header->end - header->body > longest) return std::nullopt;
    const auto bytes = section.bytes.subspan(header->body, header->end - header->body);
    ByteReader in(bytes);
    CfiCommon common;
    const unsigned version = in.u8();
    const std::string_view augmentation = in.text();
    if (version >= 4) {
        const unsigned address_size = in.u8(), selector_size = in.u8();
        if (address_size != sizeof(std::uint64_t) || selector_size != 0) return std::nullopt;
    }
    common.code_alignment = in.varint();
    common.data_alignment = in.sleb128();
    common.return_column = version == 1 ? in.u8() : in.varint();
    common.sized = augmentation.starts_with('z');
    const std::uint64_t size = common.sized ? in.varint() : 0;
    const std::uint64_t after = in.position() + size;
    if (!in.ok() || (version != 1 && version != 3 && version != 4) || size > in.remaining()) return std::nullopt;
    if (!read_augmentation(augmentation, in, common) || !in.ok()) return std::nullopt;
    if (common.sized) in.seek(after);
    common.instructions = bytes.subspan(in.position());
    return common;
}

std::optional<CfiEntry> cfi_entry(const CfiSection& section, const CfiHeader& header, const CfiCommon& common) {
    const auto bytes = section.bytes.subspan(header.body, header.end - header.body);
    ByteReader in(bytes);
    const auto start = section.pointer(in, bytes, common.encoding);
    const auto size = encoded_number(in, common.encoding);
    if (common.sized) in.skip(in.varint());
    if (!start || !size || !in.ok() || *size > ~*start) return std::nullopt;
    return CfiEntry{section, common, *start, *start + *size, bytes.subspan(in.position())};
}

std::optional<CfiEntry> cfi_entry(const CfiSection& section, const CfiHeader& header) {
    if (header.kind != CfiHeader::Kind::description) return std::nullopt;
    const auto common = cfi_common_at(section, header.common);
    return common ? cfi_entry(section, header, *common) : std::nullopt;
}

std::optional<CfiEntry> cfi_entry_at(const CfiSection& section, std::uint64_t offset) {
    const auto header = CfiHeader::at(section, offset);
    return header ? cfi_entry(section, *header) : std::nullopt;
}

}  // namespace flameprobe
