#include "symbolize/dwarf_ranges.hpp"

#include <dwarf.h>

namespace flameprobe {

namespace {

void give(const RangeSink& sink, std::uint64_t low, std::uint64_t high) {
    if (low < high) sink(low, high);
}

/// .debug_ranges, DWARF 4, section 2.17.3: pairs relative to a base; the greatest low sets a new base, two zeros end.
void walk_ranges(const DwarfUnit& unit, std::uint64_t offset, const RangeSink& sink) {
    ByteCursor cursor(unit.address_sections->ranges, offset);
    for (std::uint64_t base = unit.low_pc;;) {
        const std::uint64_t low = cursor.u64(), high = cursor.u64();
        if (!cursor.ok() || (low == 0 && high == 0)) return;
        if (low == ~std::uint64_t{0})
            base = high;
        else
            give(sink, base + low, base + high);
    }
}

/// .debug_rnglists, DWARF 5, section 7.25.
void walk_rnglist(const DwarfUnit& unit, std::uint64_t offset, const RangeSink& sink) {
    ByteCursor cursor(unit.sections->rnglists, offset);
    const auto indexed = [&](std::uint64_t index) { return unit.address({DW_FORM_addrx, index, {}}).value_or(0); };
    std::uint64_t base = unit.low_pc;
    while (cursor.ok()) {
        switch (cursor.u8()) {
            case DW_RLE_base_addressx:
                base = indexed(cursor.uleb());
                break;
            case DW_RLE_startx_endx: {
                const std::uint64_t low = indexed(cursor.uleb());
                give(sink, low, indexed(cursor.uleb()));
                break;
            }
            case DW_RLE_startx_length: {
                const std::uint64_t low = indexed(cursor.uleb());
                give(sink, low, low + cursor.uleb());
                break;
            }
            case DW_RLE_offset_pair: {
                const std::uint64_t low = cursor.uleb();
                give(sink, base + low, base + cursor.uleb());
                break;
            }
            case DW_RLE_base_address:
                base = cursor.u64();
                break;
            case DW_RLE_start_end: {
                const std::uint64_t low = cursor.u64();
                give(sink, low, cursor.u64());
                break;
            }
            case DW_RLE_start_length: {
                const std::uint64_t low = cursor.u64();
                give(sink, low, low + cursor.uleb());
                break;
            }
            default:
                return;  // DW_RLE_end_of_list, or one that nobody knows
        }
    }
}

void walk_list(const DwarfUnit& unit, const DwarfValue& ranges, const RangeSink& sink) {
    if (unit.format.version < 5) return walk_ranges(unit, ranges.number + unit.ranges_base, sink);
    if (ranges.form != DW_FORM_rnglistx) return walk_rnglist(unit, ranges.number, sink);
    const unsigned size = unit.format.offset_size();
    ByteCursor offsets(unit.sections->rnglists, unit.rnglists_base);
    if (ranges.number > offsets.remaining() / size) return;
    offsets.skip(ranges.number * size);
    const std::uint64_t offset = offsets.sized(size);
    if (offsets.ok()) walk_rnglist(unit, unit.rnglists_base + offset, sink);
}

}  // namespace

void for_each_range(const DwarfUnit& unit, const DwarfValue& low_pc, const DwarfValue& high_pc,
                    const DwarfValue& ranges, const RangeSink& sink) {
    if (ranges) return walk_list(unit, ranges, sink);
    const auto low = unit.address(low_pc);
    if (!low || !high_pc) return;
    // DWARF 4, section 2.17.2: a constant is an offset from low_pc.
    const auto high = unit.address(high_pc);
    give(sink, *low, high ? *high : *low + high_pc.number);
}

}  // namespace flameprobe
