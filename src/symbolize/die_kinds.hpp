// What the abbreviations of a unit say, looked up once each.
#pragma once

#include <cstdint>
#include <vector>

#include "symbolize/dwarf_walk.hpp"

namespace flameprobe {

struct DieKind {
    Dwarf_Abbrev* abbreviation = nullptr;
    int tag = DW_TAG_invalid;
    bool has_code = false;  // DW_AT_low_pc or DW_AT_ranges
};

/// libdw looks an abbreviation up in a hash table under a lock, for every DIE; a walk over all of a unit's takes two
/// thirds of the time without.
class DieKinds {
public:
    /// `die` is of the unit that the kinds are for; it is told its abbreviation.
    const DieKind& of(Dwarf_Die& die);

private:
    static DieKind look_up(Dwarf_Die& die);

    std::vector<DieKind> kinds_;  // by code
    DieKind other_;
};

}  // namespace flameprobe
