#include "symbolize/dwarf_names.hpp"

#include <dwarf.h>

#include <algorithm>
#include <vector>

#include "symbolize/demangle.hpp"
#include "symbolize/dwarf_scopes.hpp"

namespace flameprobe {

namespace {

constexpr int most_references = 16;  // a hostile file could have a circle

/// C has no scopes, so nothing needs to be looked for.
bool is_c(const DwarfUnit& unit) {
    switch (unit.language) {
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

void FunctionNames::add(const DieReference& die) {
    const auto [entry, is_new] = known_.try_emplace({die.file, die.offset});
    if (is_new) collect(die, entry->second, 0);
}

const FunctionName& FunctionNames::find(const DieReference& die) const {
    return known_.find({die.file, die.offset})->second.result;
}

void FunctionNames::finish() {
    const std::map<Key, std::string> scopes = this->scopes();
    for (auto& [key, parts] : known_) {
        std::string& name = parts.result.name;
        if (!parts.linkage.empty()) {
            name = demangle(parts.linkage);
            continue;
        }
        if (parts.named.unit == nullptr) continue;
        if (const auto scope = scopes.find({parts.named.file, parts.named.offset}); scope != scopes.end())
            name = scope->second;
        name += parts.plain;
    }
}

/// Compilers leave the linkage name out where a function has several (an inlined constructor) or none (local classes).
std::map<FunctionNames::Key, std::string> FunctionNames::scopes() const {
    std::map<std::pair<const DwarfFile*, const DwarfUnit*>, std::vector<std::uint64_t>> wanted;
    for (const auto& [key, parts] : known_)
        if (parts.linkage.empty() && parts.named.unit != nullptr && !is_c(*parts.named.unit))
            wanted[{parts.named.file, parts.named.unit}].push_back(parts.named.offset);
    std::map<Key, std::string> scopes;
    for (auto& [place, offsets] : wanted) {
        std::sort(offsets.begin(), offsets.end());
        for (auto& [offset, scope] : find_scopes(*place.first, *place.second, offsets))
            scopes.emplace(Key{place.first, offset}, std::move(scope));
    }
    return scopes;
}

void FunctionNames::collect(const DieReference& die, Rotation& parts, int depth) const {
    if (die.unit == nullptr || depth > most_references) return;
    const DwarfUnit& unit = *die.unit;
    ByteCursor cursor(unit.sections->info.first(unit.end), die.offset);
    const auto table = die.file->abbreviations(unit);
    const Abbreviation* abbreviation = table->find(cursor.uleb());
    if (abbreviation == nullptr) return;
    DwarfValue linkage, plain, line, origin;
    for (const AttributeSpec& spec : table->attributes(*abbreviation)) {
        const DwarfValue value = read_value(cursor, spec, unit.format);
        switch (spec.name) {
            case DW_AT_linkage_name:
            case DW_AT_MIPS_linkage_name:
                linkage = value;
                break;
            case DW_AT_name:
                plain = value;
                break;
            case DW_AT_decl_line:
                line = value;
                break;
            case DW_AT_abstract_origin:
            case DW_AT_specification:
                origin = value;
                break;
            default:
                break;
        }
    }
    const DwarfSections* alternate = die.file->alternate_sections();
    if (parts.linkage.empty()) parts.linkage = unit.text(linkage, alternate);
    if (parts.plain.empty() && plain) {
        parts.plain = unit.text(plain, alternate);
        parts.named = die;
    }
    if (parts.result.decl_line == 0) parts.result.decl_line = static_cast<std::uint32_t>(line.number);
    const bool complete = !parts.linkage.empty() && parts.result.decl_line != 0;
    if (origin && !complete) collect(die.file->follow(unit, origin), parts, depth + 1);
}

}  // namespace flameprobe
