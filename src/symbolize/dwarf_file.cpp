#include "symbolize/dwarf_file.hpp"

#include <dwarf.h>

#include <algorithm>

#include "symbolize/dwarf_ranges.hpp"

namespace flameprobe {

DwarfFile::DwarfFile(const DwarfSections& sections, const DwarfFile* alternate)
    : sections_(sections), alternate_(alternate) {
    read_units(nullptr);
}

DwarfFile::DwarfFile(const DwarfSections& sections, const DwarfUnit& skeleton)
    : sections_(sections), alternate_(nullptr) {
    read_units(&skeleton);
}

void DwarfFile::read_units(const DwarfUnit* skeleton) {
    for (std::uint64_t offset = 0; offset < sections_.info.size();) {
        auto unit = read_unit_header(sections_, offset);
        if (!unit) break;
        offset = unit->end;
        if (skeleton != nullptr) {
            unit->address_sections = skeleton->sections;
            unit->addr_base = skeleton->addr_base;
            unit->ranges_base = skeleton->split_ranges_base;
        }
        const UnitRoot root = read_unit_root(*unit, alternate_sections());
        if (skeleton != nullptr) unit->low_pc = skeleton->low_pc;
        units_.push_back(*unit);
        if (root.is_compile_unit) add_ranges(units_.back(), root);
    }
}

void DwarfFile::add_ranges(const DwarfUnit& unit, const UnitRoot& root) {
    const auto index = static_cast<std::uint32_t>(units_.size() - 1);
    for_each_range(unit, root.low_pc, root.high_pc, root.ranges, [&](std::uint64_t low, std::uint64_t high) {
        if (!ranges_.empty() && ranges_.back().unit == index && ranges_.back().high == low)
            ranges_.back().high = high;
        else
            ranges_.push_back({low, high, index});
    });
}

DieReference DwarfFile::at(std::uint64_t offset) const {
    const auto after = std::upper_bound(units_.begin(), units_.end(), offset,
                                        [](std::uint64_t value, const DwarfUnit& unit) { return value < unit.offset; });
    if (after == units_.begin()) return {};
    const DwarfUnit& unit = *std::prev(after);
    if (unit.first_die == 0 || offset < unit.first_die || offset >= unit.end) return {};
    return {this, &unit, offset};
}

DieReference DwarfFile::follow(const DwarfUnit& unit, const DwarfValue& value) const {
    switch (value.form) {
        case DW_FORM_ref1:
        case DW_FORM_ref2:
        case DW_FORM_ref4:
        case DW_FORM_ref8:
        case DW_FORM_ref_udata: {
            const std::uint64_t offset = unit.offset + value.number;
            if (value.number >= unit.end - unit.offset || offset < unit.first_die) return {};
            return {this, &unit, offset};
        }
        case DW_FORM_ref_addr:
            return at(value.number);
        case DW_FORM_GNU_ref_alt:
        case DW_FORM_ref_sup4:
        case DW_FORM_ref_sup8:
            return alternate_ == nullptr ? DieReference{} : alternate_->at(value.number);
        default:
            return {};  // DW_FORM_ref_sig8: a type unit holds no functions of its own
    }
}

}  // namespace flameprobe
