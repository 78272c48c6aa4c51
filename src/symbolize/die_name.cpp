// What a function's DIE, and those that it refers to, say about its name.
#include <algorithm>
#include <array>
#include <utility>

#include "symbolize/dwarf_functions.hpp"

namespace flameprobe {

namespace {

constexpr int most_references = 16;       // a hostile file could have a circle
constexpr std::size_t most_names = 4096;  // bytes

/// Read in one pass over a DIE's attributes: each call of dwarf_attr would make a pass of its own.
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

std::string type_name(Dwarf_Die at) {
    using Mark = std::pair<int, std::string_view>;
    constexpr std::array marks_of = {Mark{DW_TAG_pointer_type, "*"}, Mark{DW_TAG_reference_type, "&"},
                                     Mark{DW_TAG_rvalue_reference_type, "&&"}, Mark{DW_TAG_const_type, " const"},
                                     Mark{DW_TAG_volatile_type, " volatile"}};
    std::string marks;  // behind the name, as demanglers write them
    for (int i = 0; i < most_references; ++i) {
        const auto mark = std::ranges::find(marks_of, ::dwarf_tag(&at), &Mark::first);
        if (mark == marks_of.end()) {
            const char* const name = text_of(at, DW_AT_name);
            return (name == nullptr ? "..." : name) + marks;
        }
        marks.insert(0, mark->second);
        auto type = attribute_of(at, DW_AT_type);
        if (!type || ::dwarf_formref_die(&*type, &at) == nullptr) return "void" + marks;
    }
    return "...";
}

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

std::string parameters_of(const Dwarf_Die& function) {
    std::string text;
    walk_dies(function, [&](Dwarf_Die& die, std::size_t) {
        const int tag = ::dwarf_tag(&die);
        if (tag == DW_TAG_unspecified_parameters) text += text.empty() ? "..." : ", ...";
        if (tag != DW_TAG_formal_parameter || text.size() > most_names) return false;
        Dwarf_Die type, origin = die;
        auto attribute = attribute_of(die, DW_AT_abstract_origin);
        if (attribute && ::dwarf_formref_die(&*attribute, &origin) == nullptr) return false;
        if (::dwarf_hasattr(&origin, DW_AT_artificial) != 0) return false;  // `this`
        attribute = attribute_of(origin, DW_AT_type);
        const bool known = attribute && ::dwarf_formref_die(&*attribute, &type) != nullptr;
        text += (text.empty() ? "" : ", ") + (known ? type_name(type) : std::string("..."));
        return false;
    });
    return "(" + text + ")";
}

}  // namespace flameprobe
