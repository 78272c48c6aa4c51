// A unit with code, and the address ranges of its DIEs.
#pragma once

#include <cstdint>

#include "symbolize/dwarf_walk.hpp"

namespace flameprobe {

struct CodeUnit {
    Dwarf_Die root{};
    /// Only of a split unit, else null and 0: its sections, and the address of its skeleton, which libdw does not know
    /// and which the ranges are relative to.
    const class DebugImage* split_image = nullptr;
    std::uint64_t low_pc = 0;
};

/// Unused bytes before the .debug_ranges (DWARF 4) of a split unit's image: dwarf_ranges takes offset 0 for the start
/// of the walk.
constexpr std::size_t split_ranges_shift = 16;

/// Where the list of a split unit's DIE begins in its section of ranges; 0 if it has none.
std::ptrdiff_t split_ranges_offset(const CodeUnit& unit, const Dwarf_Die& die);

/// Calls action(low, high) for each range of a DIE until `action` returns false.
template <class Action>
void for_each_range(const CodeUnit& unit, Dwarf_Die& die, Action action) {
    Dwarf_Addr base = unit.low_pc, low = 0, high = 0;
    std::ptrdiff_t at = 0;
    if (unit.split_image != nullptr && ::dwarf_hasattr(&die, DW_AT_ranges) != 0)
        if ((at = split_ranges_offset(unit, die)) == 0) return;
    while ((at = ::dwarf_ranges(&die, at, &base, &low, &high)) > 0)
        if (low < high && !action(low, high)) return;
}

}  // namespace flameprobe
