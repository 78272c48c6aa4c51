// Attribute values as they stand in the file (DWARF 5, section 7.5.6).
#pragma once

#include <cstdint>
#include <string_view>

#include "symbolize/byte_cursor.hpp"

namespace flameprobe {

struct AttributeSpec;

/// What the sizes of some forms depend on.
struct UnitFormat {
    std::uint16_t version = 0;
    bool is_64 = false;  // offsets of 8 bytes; addresses always have 8 here

    unsigned offset_size() const { return is_64 ? 8 : 4; }
};

struct DwarfValue {
    std::uint16_t form = 0;    // 0: not there; never DW_FORM_indirect
    std::uint64_t number = 0;  // constant, offset, index or address; signed ones are sign-extended
    std::string_view text;     // DW_FORM_string only

    explicit operator bool() const { return form != 0; }
};

/// Bytes that a form takes in any unit of 32-bit DWARF 3 and later, -1 if that varies or the form is unknown.
int fixed_form_size(std::uint16_t form);
/// Moves the cursor behind the value. An unknown form makes the cursor fail: nothing behind it can be found.
DwarfValue read_value(ByteCursor& cursor, const AttributeSpec& spec, const UnitFormat& format);
void skip_value(ByteCursor& cursor, const AttributeSpec& spec, const UnitFormat& format);

}  // namespace flameprobe
