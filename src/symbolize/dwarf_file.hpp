// The debug information of one file: its units, and the way from one to another.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "symbolize/dwarf_abbrev.hpp"
#include "symbolize/dwarf_unit.hpp"

namespace flameprobe {

class DwarfFile;

/// Where a DIE stands. `unit` is null if it is nowhere.
struct DieReference {
    const DwarfFile* file = nullptr;
    const DwarfUnit* unit = nullptr;
    std::uint64_t offset = 0;
};

/// Addresses of a unit, as its root DIE tells them.
struct UnitRange {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    std::uint32_t unit = 0;
};

/// Read by its constructor, which touches the head of every unit and nothing else; then any thread may use it.
class DwarfFile {
public:
    /// `alternate` (dwz), if not null, must outlive the file, as must the bytes of the sections.
    DwarfFile(const DwarfSections& sections, const DwarfFile* alternate);
    /// A split file's: what its units take from their skeleton is filled in.
    DwarfFile(const DwarfSections& sections, const DwarfUnit& skeleton);
    DwarfFile(const DwarfFile&) = delete;

    const DwarfSections& sections() const { return sections_; }
    const DwarfSections* alternate_sections() const { return alternate_ == nullptr ? nullptr : &alternate_->sections_; }
    const std::vector<DwarfUnit>& units() const { return units_; }
    const std::vector<UnitRange>& ranges() const { return ranges_; }

    std::shared_ptr<const AbbreviationTable> abbreviations(const DwarfUnit& unit) const {
        return abbreviations_.get(unit.sections->abbrev, unit.abbrev_offset);
    }
    /// What a reference in `unit`, which is this file's, leads to.
    DieReference follow(const DwarfUnit& unit, const DwarfValue& value) const;

private:
    void read_units(const DwarfUnit* skeleton);
    void add_ranges(const DwarfUnit& unit, const UnitRoot& root);
    DieReference at(std::uint64_t offset) const;

    DwarfSections sections_;
    const DwarfFile* alternate_;
    std::vector<DwarfUnit> units_;  // sorted by offset
    std::vector<UnitRange> ranges_;
    mutable AbbreviationCache abbreviations_;
};

}  // namespace flameprobe
