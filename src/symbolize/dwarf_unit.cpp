#include "symbolize/dwarf_unit.hpp"

#include <dwarf.h>

#include <string>

namespace flameprobe {

namespace {

// From DWARF 4's GNU extension for split files; elfutils' dwarf.h has them as attributes, but not in every version.
constexpr std::uint16_t at_gnu_dwo_name = 0x2130, at_gnu_dwo_id = 0x2131, at_gnu_ranges_base = 0x2132,
                        at_gnu_addr_base = 0x2133;

std::optional<std::uint64_t> indexed(Bytes section, std::uint64_t base, std::uint64_t index, unsigned size) {
    if (index > section.size() / size) return std::nullopt;
    ByteCursor cursor(section, base);
    cursor.skip(index * size);
    const std::uint64_t value = cursor.sized(size);
    return cursor.ok() ? std::optional(value) : std::nullopt;
}

/// A split unit's offsets start behind the headers that DWARF 5 puts there; nothing in the unit says so.
void set_default_bases(DwarfUnit& unit) {
    if (unit.format.version < 5 || unit.type != DW_UT_split_compile) return;
    unit.str_offsets_base = unit.format.is_64 ? 16 : 8;
    unit.rnglists_base = unit.format.is_64 ? 20 : 12;
}

void read_type(DwarfUnit& unit, ByteCursor& cursor) {
    if (unit.format.version >= 5) {
        unit.type = cursor.u8();
        cursor.skip(1);  // address size
        unit.abbrev_offset = cursor.sized(unit.format.offset_size());
        if (unit.type == DW_UT_skeleton || unit.type == DW_UT_split_compile) unit.dwo_id = cursor.u64();
        if (unit.type == DW_UT_type || unit.type == DW_UT_split_type) cursor.skip(8 + unit.format.offset_size());
    } else {
        unit.type = DW_UT_compile;
        unit.abbrev_offset = cursor.sized(unit.format.offset_size());
        cursor.skip(1);
    }
}

}  // namespace

DwarfSections DwarfSections::of(const ElfFile& file, std::string_view suffix) {
    const auto get = [&](std::string_view name) { return file.contents(std::string(name).append(suffix)); };
    DwarfSections sections;
    sections.info = get(".debug_info");
    sections.abbrev = get(".debug_abbrev");
    sections.str = get(".debug_str");
    sections.str_offsets = get(".debug_str_offsets");
    sections.addr = get(".debug_addr");
    sections.ranges = get(".debug_ranges");
    sections.rnglists = get(".debug_rnglists");
    sections.line = get(".debug_line");
    sections.line_str = get(".debug_line_str");
    return sections;
}

std::uint64_t DwarfSections::size_of(const ElfFile& file) {
    std::uint64_t size = 0;
    for (const std::string_view name :
         {".debug_info", ".debug_abbrev", ".debug_str", ".debug_str_offsets", ".debug_addr", ".debug_ranges",
          ".debug_rnglists", ".debug_line", ".debug_line_str"})
        size += file.contents_size(name);
    return size;
}

std::string_view DwarfUnit::text(const DwarfValue& value, const DwarfSections* alternate) const {
    switch (value.form) {
        case DW_FORM_string:
            return value.text;
        case DW_FORM_strp:
            return text_at(sections->str, value.number);
        case DW_FORM_line_strp:
            return text_at(sections->line_str, value.number);
        case DW_FORM_GNU_strp_alt:
        case DW_FORM_strp_sup:
            return alternate == nullptr ? std::string_view{} : text_at(alternate->str, value.number);
        case DW_FORM_strx:
        case DW_FORM_strx1:
        case DW_FORM_strx2:
        case DW_FORM_strx3:
        case DW_FORM_strx4:
        case DW_FORM_GNU_str_index: {
            const auto at = indexed(sections->str_offsets, str_offsets_base, value.number, format.offset_size());
            return at ? text_at(sections->str, *at) : std::string_view{};
        }
        default:
            return {};
    }
}

std::optional<std::uint64_t> DwarfUnit::address(const DwarfValue& value) const {
    switch (value.form) {
        case DW_FORM_addr:
            return value.number;
        case DW_FORM_addrx:
        case DW_FORM_addrx1:
        case DW_FORM_addrx2:
        case DW_FORM_addrx3:
        case DW_FORM_addrx4:
        case DW_FORM_GNU_addr_index:
            return indexed(address_sections->addr, addr_base, value.number, 8);
        default:
            return std::nullopt;
    }
}

std::optional<DwarfUnit> read_unit_header(const DwarfSections& sections, std::uint64_t offset) {
    ByteCursor cursor(sections.info, offset);
    DwarfUnit unit;
    unit.sections = unit.address_sections = &sections;
    unit.offset = offset;
    std::uint64_t size = cursor.u32();
    unit.format.is_64 = size == 0xffffffff;
    if (unit.format.is_64) size = cursor.u64();
    if (!cursor.ok() || size > cursor.remaining()) return std::nullopt;
    unit.end = cursor.offset() + size;
    unit.format.version = cursor.u16();
    if (unit.format.version < 2 || unit.format.version > 5) return unit;
    read_type(unit, cursor);
    if (cursor.ok() && cursor.offset() < unit.end) unit.first_die = cursor.offset();
    return unit;
}

UnitRoot read_unit_root(DwarfUnit& unit, const DwarfSections* alternate) {
    UnitRoot root;
    if (unit.first_die == 0) return root;
    ByteCursor cursor(unit.sections->info.first(unit.end), unit.first_die);
    const std::uint64_t code = cursor.uleb();
    const AbbreviationTable table(unit.sections->abbrev, unit.abbrev_offset, code);
    const Abbreviation* abbreviation = table.find(code);
    if (abbreviation == nullptr) return root;
    root.is_compile_unit = abbreviation->tag == DW_TAG_compile_unit || abbreviation->tag == DW_TAG_skeleton_unit;

    // Strings and addresses may come before the bases that they need.
    DwarfValue name, comp_dir, dwo_name;
    set_default_bases(unit);
    for (const AttributeSpec& spec : table.attributes(*abbreviation)) {
        const DwarfValue value = read_value(cursor, spec, unit.format);
        switch (spec.name) {
            case DW_AT_name:
                name = value;
                break;
            case DW_AT_comp_dir:
                comp_dir = value;
                break;
            case DW_AT_dwo_name:
            case at_gnu_dwo_name:
                dwo_name = value;
                break;
            case at_gnu_dwo_id:
                unit.dwo_id = value.number;
                break;
            case DW_AT_str_offsets_base:
                unit.str_offsets_base = value.number;
                break;
            case DW_AT_addr_base:
            case at_gnu_addr_base:
                unit.addr_base = value.number;
                break;
            case DW_AT_rnglists_base:
                unit.rnglists_base = value.number;
                break;
            case at_gnu_ranges_base:
                unit.split_ranges_base = value.number;
                break;
            case DW_AT_stmt_list:
                unit.line_offset = value.number;
                break;
            case DW_AT_language:
                unit.language = static_cast<std::uint16_t>(value.number);
                break;
            case DW_AT_low_pc:
                root.low_pc = value;
                break;
            case DW_AT_high_pc:
                root.high_pc = value;
                break;
            case DW_AT_ranges:
                root.ranges = value;
                break;
            default:
                break;
        }
    }
    unit.name = unit.text(name, alternate);
    unit.comp_dir = unit.text(comp_dir, alternate);
    unit.dwo_name = unit.text(dwo_name, alternate);
    unit.low_pc = unit.address(root.low_pc).value_or(0);
    return root;
}

}  // namespace flameprobe
