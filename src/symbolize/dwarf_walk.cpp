#include "symbolize/dwarf_walk.hpp"

#include "symbolize/byte_cursor.hpp"
#include "symbolize/debug_image.hpp"

namespace flameprobe {

std::ptrdiff_t split_ranges_offset(const CodeUnit& unit, const Dwarf_Die& die) {
    auto attribute = attribute_of(die, DW_AT_ranges);
    Dwarf_Word value = 0;
    if (!attribute || ::dwarf_formudata(&*attribute, &value) != 0) return 0;
    Dwarf_Half version = 0;
    ::dwarf_cu_info(unit.root.cu, &version, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    if (version < 5) return static_cast<std::ptrdiff_t>(value + split_ranges_shift);
    if (attribute->form != DW_FORM_rnglistx) return static_cast<std::ptrdiff_t>(value);

    // The index into the offsets behind the section's header (DWARF 5, section 7.28).
    ByteCursor cursor(unit.split_image->section(".debug_rnglists"));
    const bool is_64 = cursor.u32() == 0xffffffff;
    cursor.skip(is_64 ? 16 : 8);
    const std::uint64_t base = cursor.offset(), entry = is_64 ? 8 : 4;
    if (value > cursor.remaining() / entry) return 0;
    cursor.skip(value * entry);
    const std::uint64_t offset = is_64 ? cursor.u64() : cursor.u32();
    return cursor.ok() ? static_cast<std::ptrdiff_t>(base + offset) : 0;
}

}  // namespace flameprobe
