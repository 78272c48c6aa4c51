// Walking over the DIEs of a unit through libdw, and over their address ranges.
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/byte_reader.hpp"
#include "symbolize/debug_image.hpp"

namespace flameprobe {

constexpr bool is_class(int tag) {
    return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type ||
           tag == DW_TAG_interface_type;
}
constexpr bool is_scope(int tag) {
    return tag == DW_TAG_namespace || tag == DW_TAG_enumeration_type || tag == DW_TAG_module || is_class(tag) ||
           tag == DW_TAG_subprogram;
}
constexpr bool is_block(int tag) {
    return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/// No compiler nests DIEs deeper; hostile files may. Less than the number of zeros behind a DebugImage.
constexpr std::size_t most_die_depth = 1024;

/// Calls visit(die, depth) for the DIEs below `root`, a unit's in a DebugImage, in document order; `visit` returns
/// whether to walk the children. Linear even where the compiler writes no DW_AT_sibling (clang): dwarf_siblingof leaves
/// the address of the end of the list, from where the walk continues without returning to the parent.
template <class Visit>
void walk_dies(Dwarf_Die root, Visit visit) {
    Dwarf_Die die, next;
    if (::dwarf_child(&root, &die) != 0) return;
    for (std::size_t depth = 1;;) {
        if (visit(die, depth) && depth < most_die_depth) {
            const int child = ::dwarf_child(&die, &next);
            if (child < 0) return;
            if (child == 0) {
                ++depth;
                die = next;
                continue;
            }
        }
        next.addr = nullptr;
        const int sibling = ::dwarf_siblingof(&die, &next);
        if (sibling < 0) return;
        if (sibling == 0) {
            die = next;
            continue;
        }
        auto* at = static_cast<unsigned char*>(next.addr);
        if (at == nullptr) return;
        for (; *at == 0; ++at)  // past the unit's end libdw refuses the DIE
            if (--depth == 0) return;
        Dwarf_CU* const unit = die.cu;
        die = {};
        die.addr = at;
        die.cu = unit;
    }
}

inline std::optional<Dwarf_Attribute> attribute_of(Dwarf_Die die, unsigned name) {
    Dwarf_Attribute attribute;
    if (::dwarf_attr(&die, name, &attribute) == nullptr) return std::nullopt;
    return attribute;
}

/// 0 if the DIE has no such attribute.
inline Dwarf_Word number_of(const Dwarf_Die& die, unsigned name) {
    auto attribute = attribute_of(die, name);
    Dwarf_Word value = 0;
    if (!attribute || ::dwarf_formudata(&*attribute, &value) != 0) return 0;
    return value;
}

/// Null if the DIE has no such attribute.
inline const char* text_of(const Dwarf_Die& die, unsigned name) {
    auto attribute = attribute_of(die, name);
    return attribute ? ::dwarf_formstring(&*attribute) : nullptr;
}

/// A unit with code.
struct CodeUnit {
    Dwarf_Die root{};
    /// Only of a split unit, else null and 0: its sections, and the address of its skeleton, which libdw does not know
    /// and which the ranges are relative to.
    const DebugImage* split_image = nullptr;
    std::uint64_t low_pc = 0;
};

/// Unused bytes before the .debug_ranges (DWARF 4) of a split unit's image: dwarf_ranges takes offset 0 for the start
/// of the walk.
constexpr std::size_t split_ranges_shift = 16;

/// Where the list of a split unit's DIE begins in its section of ranges; 0 if it has none.
inline std::ptrdiff_t split_ranges_offset(const CodeUnit& unit, const Dwarf_Die& die) {
    auto attribute = attribute_of(die, DW_AT_ranges);
    Dwarf_Word value = 0;
    if (!attribute || ::dwarf_formudata(&*attribute, &value) != 0) return 0;
    Dwarf_Half version = 0;
    ::dwarf_cu_info(unit.root.cu, &version, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    if (version < 5) return static_cast<std::ptrdiff_t>(value + split_ranges_shift);
    if (attribute->form != DW_FORM_rnglistx) return static_cast<std::ptrdiff_t>(value);

    // The index into the offsets behind the section's header (DWARF 5, section 7.28).
    ByteReader cursor(unit.split_image->section(".debug_rnglists"));
    const bool is_64 = cursor.u32() == 0xffffffff;
    cursor.skip(is_64 ? 16 : 8);
    const std::uint64_t base = cursor.position(), entry = is_64 ? 8 : 4;
    if (value > cursor.remaining() / entry) return 0;
    cursor.skip(value * entry);
    const std::uint64_t offset = is_64 ? cursor.u64() : cursor.u32();
    return cursor.ok() ? static_cast<std::ptrdiff_t>(base + offset) : 0;
}

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
