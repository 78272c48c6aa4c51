#include "symbolize/dwarf_form.hpp"

#include <dwarf.h>

#include "symbolize/dwarf_abbrev.hpp"

namespace flameprobe {

namespace {

constexpr std::uint64_t fail_skip = ~std::uint64_t{0};

std::uint64_t block_size(ByteCursor& cursor, std::uint16_t form) {
    switch (form) {
        case DW_FORM_block1:
            return cursor.u8();
        case DW_FORM_block2:
            return cursor.u16();
        case DW_FORM_block4:
            return cursor.u32();
        default:
            return cursor.uleb();
    }
}

}  // namespace

int fixed_form_size(std::uint16_t form) {
    switch (form) {
        case DW_FORM_flag_present:
        case DW_FORM_implicit_const:
            return 0;
        case DW_FORM_data1:
        case DW_FORM_ref1:
        case DW_FORM_flag:
        case DW_FORM_strx1:
        case DW_FORM_addrx1:
            return 1;
        case DW_FORM_data2:
        case DW_FORM_ref2:
        case DW_FORM_strx2:
        case DW_FORM_addrx2:
            return 2;
        case DW_FORM_strx3:
        case DW_FORM_addrx3:
            return 3;
        case DW_FORM_data4:
        case DW_FORM_ref4:
        case DW_FORM_strx4:
        case DW_FORM_addrx4:
        case DW_FORM_ref_sup4:
        case DW_FORM_strp:
        case DW_FORM_line_strp:
        case DW_FORM_strp_sup:
        case DW_FORM_sec_offset:
        case DW_FORM_ref_addr:
        case DW_FORM_GNU_ref_alt:
        case DW_FORM_GNU_strp_alt:
            return 4;
        case DW_FORM_addr:
        case DW_FORM_data8:
        case DW_FORM_ref8:
        case DW_FORM_ref_sig8:
        case DW_FORM_ref_sup8:
            return 8;
        case DW_FORM_data16:
            return 16;
        default:
            return -1;
    }
}

DwarfValue read_value(ByteCursor& cursor, const AttributeSpec& spec, const UnitFormat& format) {
    std::uint16_t form = spec.form;
    if (form == DW_FORM_indirect) form = static_cast<std::uint16_t>(cursor.uleb());
    DwarfValue value{form, 0, {}};
    switch (form) {
        case DW_FORM_implicit_const:
            value.number = static_cast<std::uint64_t>(spec.constant);
            break;
        case DW_FORM_flag_present:
            value.number = 1;
            break;
        case DW_FORM_string:
            value.text = cursor.text();
            break;
        case DW_FORM_sdata:
            value.number = static_cast<std::uint64_t>(cursor.sleb());
            break;
        case DW_FORM_udata:
        case DW_FORM_ref_udata:
        case DW_FORM_strx:
        case DW_FORM_addrx:
        case DW_FORM_loclistx:
        case DW_FORM_rnglistx:
        case DW_FORM_GNU_addr_index:
        case DW_FORM_GNU_str_index:
            value.number = cursor.uleb();
            break;
        case DW_FORM_strp:
        case DW_FORM_line_strp:
        case DW_FORM_strp_sup:
        case DW_FORM_sec_offset:
        case DW_FORM_GNU_ref_alt:
        case DW_FORM_GNU_strp_alt:
            value.number = cursor.sized(format.offset_size());
            break;
        // DWARF 2 gave it the size of an address.
        case DW_FORM_ref_addr:
            value.number = cursor.sized(format.version <= 2 ? 8 : format.offset_size());
            break;
        case DW_FORM_strx3:
        case DW_FORM_addrx3:
            value.number = cursor.u24();
            break;
        case DW_FORM_data16:
            cursor.skip(16);
            break;
        case DW_FORM_block1:
        case DW_FORM_block2:
        case DW_FORM_block4:
        case DW_FORM_block:
        case DW_FORM_exprloc:
            cursor.skip(block_size(cursor, form));
            break;
        default:
            if (const int size = fixed_form_size(form); size > 0)
                value.number = cursor.sized(static_cast<unsigned>(size));
            else
                cursor.skip(fail_skip);
    }
    return value;
}

void skip_value(ByteCursor& cursor, const AttributeSpec& spec, const UnitFormat& format) {
    if (spec.size >= 0 && !format.is_64 && format.version > 2)
        cursor.skip(static_cast<std::uint64_t>(spec.size));
    else
        read_value(cursor, spec, format);
}

}  // namespace flameprobe
