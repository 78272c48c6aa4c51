// A unit with code, and the address ranges of its DIEs.
#pragma once

#include <cstdint>

#include "symbolize/dwarf_walk.hpp"

namespace flameprobe {

struct CodeUnit {
    Dwarf_Die root{};
    /// Of a split unit, whose skeleton libdw does not know of: the skeleton's address, which the ranges are relative
    /// to, and the sections of the split unit. Null otherwise.
    const class DebugImage* split_image = nullptr;
    std::uint64_t low_pc = 0;
};

/// In a split unit's image .debug_ranges (DWARF 4) begins with so many bytes of nothing: to dwarf_ranges offset 0 means
/// the start of the walk.
constexpr std::size_t split_ranges_shift = 16;

/// Where the list of a split unit's DIE begins in its section of ranges; 0 if it has none.
std::ptrdiff_t split_ranges_offset(const CodeUnit& unit, const Dwarf_Die& die);

/// Calls action(low, high) for the ranges of a DIE; it says whether to go on.
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
