#include "symbolize/die_kinds.hpp"

namespace flameprobe {

const DieKind& DieKinds::of(Dwarf_Die& die) {
    const auto* const bytes = static_cast<const unsigned char*>(die.addr);  // a ULEB128 number of one or two bytes
    std::size_t code = bytes[0];
    if (code >= 0x80) {
        if (bytes[1] >= 0x80) return other_ = look_up(die);
        code = (code & 0x7f) | static_cast<std::size_t>(bytes[1]) << 7;
    }
    if (code >= kinds_.size()) kinds_.resize(code + 1);
    DieKind& kind = kinds_[code];
    if (kind.abbreviation == nullptr)
        kind = look_up(die);
    else
        die.abbrev = kind.abbreviation;
    return kind;
}

DieKind DieKinds::look_up(Dwarf_Die& die) {
    DieKind kind;
    kind.tag = ::dwarf_tag(&die);
    if (kind.tag == DW_TAG_invalid) return kind;
    kind.abbreviation = die.abbrev;
    unsigned name = 0, form = 0;
    for (std::size_t i = 0; ::dwarf_getabbrevattr(die.abbrev, i, &name, &form, nullptr) == 0; ++i)
        kind.has_code = kind.has_code || name == DW_AT_low_pc || name == DW_AT_ranges;
    return kind;
}

}  // namespace flameprobe
