#include "symbolize/die_name.hpp"

namespace flameprobe {

namespace {

constexpr int most_references = 16;  // a hostile file could have a circle

/// In one pass over the attributes of a DIE: dwarf_attr makes one for each.
struct NameAttributes {
    const char* linkage = nullptr;
    const char* plain = nullptr;
    Dwarf_Word line = 0;
    Dwarf_Attribute origin{};

    static int take(Dwarf_Attribute* attribute, void* to) {
        auto& attributes = *static_cast<NameAttributes*>(to);
        switch (attribute->code) {
            case DW_AT_linkage_name:
            case DW_AT_MIPS_linkage_name:
                attributes.linkage = ::dwarf_formstring(attribute);
                break;
            case DW_AT_name:
                attributes.plain = ::dwarf_formstring(attribute);
                break;
            case DW_AT_decl_line:
                if (::dwarf_formudata(attribute, &attributes.line) != 0) attributes.line = 0;
                break;
            case DW_AT_abstract_origin:
            case DW_AT_specification:
                attributes.origin = *attribute;
                break;
            default:
                break;
        }
        return DWARF_CB_OK;
    }
};

}  // namespace

DieName name_of(Dwarf_Die die) {
    DieName name;
    for (int i = 0; i <= most_references; ++i) {
        NameAttributes attributes;
        ::dwarf_getattrs(&die, NameAttributes::take, &attributes, 0);
        if (name.linkage == nullptr) name.linkage = attributes.linkage;
        if (name.plain == nullptr && (name.plain = attributes.plain) != nullptr) name.named = die;
        if (name.decl_line == 0) name.decl_line = attributes.line;
        if (name.linkage != nullptr && name.decl_line != 0) break;
        if (attributes.origin.valp == nullptr || ::dwarf_formref_die(&attributes.origin, &die) == nullptr) break;
    }
    return name;
}

}  // namespace flameprobe
