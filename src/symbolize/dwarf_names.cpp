#include "symbolize/dwarf_names.hpp"

#include "symbolize/demangle.hpp"
#include "symbolize/dwarf_scopes.hpp"

namespace flameprobe {

namespace {

constexpr int most_references = 16;  // a hostile file could have a circle

/// C has no scopes, so nothing needs to be looked for.
bool is_c(Dwarf_Die unit) {
    switch (::dwarf_srclang(&unit)) {
        case DW_LANG_C89:
        case DW_LANG_C:
        case DW_LANG_C99:
        case DW_LANG_C11:
            return true;
        default:
            return false;
    }
}

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

void FunctionNames::add(const Dwarf_Die& die) {
    const auto [entry, is_new] = known_.try_emplace(die.addr);
    if (is_new) collect(die, entry->second);
}

void FunctionNames::collect(Dwarf_Die die, Parts& parts) {
    for (int i = 0; i <= most_references; ++i) {
        NameAttributes attributes;
        ::dwarf_getattrs(&die, NameAttributes::take, &attributes, 0);
        if (parts.linkage == nullptr) parts.linkage = attributes.linkage;
        if (parts.plain == nullptr && (parts.plain = attributes.plain) != nullptr) parts.named = die;
        if (parts.result.decl_line == 0) parts.result.decl_line = static_cast<std::uint32_t>(attributes.line);
        if (parts.linkage != nullptr && parts.result.decl_line != 0) return;
        if (attributes.origin.valp == nullptr || ::dwarf_formref_die(&attributes.origin, &die) == nullptr) return;
    }
}

void FunctionNames::finish() {
    const std::map<const void*, std::string> scopes = this->scopes();
    for (auto& [key, parts] : known_) {
        std::string& name = parts.result.name;
        if (parts.linkage != nullptr) {
            name = demangle(parts.linkage);
        } else if (parts.plain != nullptr) {
            if (const auto scope = scopes.find(parts.named.addr); scope != scopes.end()) name = scope->second;
            name += parts.plain;
        }
    }
}

/// Compilers leave the linkage name out where a function has several (an inlined constructor) or none (local classes).
std::map<const void*, std::string> FunctionNames::scopes() const {
    struct Wanted {
        Dwarf_Die unit{};
        std::vector<const void*> dies;
    };
    std::map<const void*, Wanted> wanted;  // by unit
    for (const auto& [key, parts] : known_) {
        if (parts.linkage != nullptr || parts.plain == nullptr) continue;
        Dwarf_Die unit, named = parts.named;
        if (::dwarf_diecu(&named, &unit, nullptr, nullptr) == nullptr || is_c(unit)) continue;
        Wanted& of_unit = wanted[unit.addr];
        of_unit.unit = unit;
        of_unit.dies.push_back(named.addr);
    }
    std::map<const void*, std::string> scopes;
    for (auto& [address, of_unit] : wanted) find_scopes(of_unit.unit, of_unit.dies, scopes);
    return scopes;
}

}  // namespace flameprobe
