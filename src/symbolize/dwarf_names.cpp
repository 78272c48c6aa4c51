#include "symbolize/dwarf_names.hpp"

#include "symbolize/demangle.hpp"
#include "symbolize/dwarf_scopes.hpp"

namespace flameprobe {

namespace {

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

}  // namespace

void FunctionNames::add(const Dwarf_Die& die) {
    const auto [entry, is_new] = known_.try_emplace(die.addr);
    if (is_new) entry->second.name = name_of(die);
}

void FunctionNames::finish() {
    const std::map<const void*, std::string> scopes = this->scopes();
    for (auto& [key, parts] : known_) {
        std::string& name = parts.result.name;
        parts.result.decl_line = static_cast<std::uint32_t>(parts.name.decl_line);
        if (parts.name.linkage != nullptr) {
            name = demangle(parts.name.linkage);
        } else if (parts.name.plain != nullptr) {
            if (const auto scope = scopes.find(parts.name.named.addr); scope != scopes.end()) name = scope->second;
            name += parts.name.plain;
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
        if (parts.name.linkage != nullptr || parts.name.plain == nullptr) continue;
        Dwarf_Die unit, named = parts.name.named;
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
