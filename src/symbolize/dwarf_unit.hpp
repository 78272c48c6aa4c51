// Units of .debug_info: their headers, and how the values in them are to be read.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "symbolize/dwarf_abbrev.hpp"
#include "symbolize/dwarf_form.hpp"
#include "symbolize/elf_file.hpp"

namespace flameprobe {

/// The sections of one file, or one unit's share of them in a .dwp.
struct DwarfSections {
    Bytes info, abbrev, str, str_offsets, addr, ranges, rnglists, line, line_str;

    /// `suffix` is ".dwo" for a split file.
    static DwarfSections of(const ElfFile& file, std::string_view suffix = "");
    /// Bytes that they take together.
    static std::uint64_t size_of(const ElfFile& file);
};

struct DwarfUnit {
    const DwarfSections* sections = nullptr;
    const DwarfSections* address_sections = nullptr;  // of the skeleton, for a split unit; else the same
    UnitFormat format;
    std::uint8_t type = 0;     // DW_UT_*
    std::uint64_t offset = 0;  // of the header in sections->info
    std::uint64_t first_die = 0;
    std::uint64_t end = 0;
    std::uint64_t abbrev_offset = 0;
    std::uint64_t dwo_id = 0;  // 0 if it has none
    // From its root DIE:
    std::uint64_t str_offsets_base = 0;
    std::uint64_t addr_base = 0;
    std::uint64_t rnglists_base = 0;
    std::uint64_t ranges_base = 0;  // GNU split DWARF 4: added to offsets into .debug_ranges; what a skeleton says
    std::uint64_t split_ranges_base = 0;  // (here) is for its split unit only
    std::uint64_t low_pc = 0;
    std::uint16_t language = 0;
    std::optional<std::uint64_t> line_offset;
    std::string_view comp_dir, name, dwo_name;

    /// Strings of the alternate file need its sections; null if there is none.
    std::string_view text(const DwarfValue& value, const DwarfSections* alternate) const;
    std::optional<std::uint64_t> address(const DwarfValue& value) const;
};

/// What in the root DIE tells which addresses the unit holds.
struct UnitRoot {
    DwarfValue low_pc, high_pc, ranges;
    bool is_compile_unit = false;  // not a partial or type unit
};

/// The header at `offset`, with `end` set even if the unit is of a kind that cannot be read (its `first_die` is 0
/// then). Nothing if there is no whole header.
std::optional<DwarfUnit> read_unit_header(const DwarfSections& sections, std::uint64_t offset);
/// Reads the root DIE into `unit`.
UnitRoot read_unit_root(DwarfUnit& unit, const DwarfSections* alternate);

}  // namespace flameprobe
