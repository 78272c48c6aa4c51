// DIEs of debug information, and what they refer to.
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <optional>
#include <string_view>

namespace flameprobe::async {

inline std::optional<Dwarf_Die> die_of(Dwarf_Die die, unsigned attribute) {
    Dwarf_Attribute found;
    Dwarf_Die target;
    if (::dwarf_attr_integrate(&die, attribute, &found) == nullptr || ::dwarf_formref_die(&found, &target) == nullptr)
        return std::nullopt;
    return target;
}

inline std::string_view name_of(Dwarf_Die die) {
    const char* const name = ::dwarf_diename(&die);
    return name == nullptr ? std::string_view() : name;
}

template <class Use>
void for_each_child(Dwarf_Die die, Use use) {
    Dwarf_Die child;
    if (::dwarf_child(&die, &child) != 0) return;
    do {
        if (!use(child)) return;
    } while (::dwarf_siblingof(&child, &child) == 0);
}

}  // namespace flameprobe::async
