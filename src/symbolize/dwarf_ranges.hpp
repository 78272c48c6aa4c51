// The addresses that a DIE covers.
#pragma once

#include <functional>

#include "symbolize/dwarf_unit.hpp"

namespace flameprobe {

/// `low` up to, not including, `high`; never empty.
using RangeSink = std::function<void(std::uint64_t low, std::uint64_t high)>;

/// From DW_AT_ranges if there, else from DW_AT_low_pc and DW_AT_high_pc. Values that are not there are ignored.
void for_each_range(const DwarfUnit& unit, const DwarfValue& low_pc, const DwarfValue& high_pc,
                    const DwarfValue& ranges, const RangeSink& sink);

}  // namespace flameprobe
