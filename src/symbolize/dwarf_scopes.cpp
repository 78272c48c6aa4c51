#include "symbolize/dwarf_scopes.hpp"

#include <dwarf.h>

#include <vector>

namespace flameprobe {

namespace {

constexpr std::size_t most_depth = 1024;          // nothing sensible nests deeper; hostile files do
constexpr std::size_t most_scope_size = 1 << 16;  // bytes of one scope's text

bool is_scope(std::uint16_t tag) {
    return tag == DW_TAG_namespace || tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
           tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type || tag == DW_TAG_interface_type ||
           tag == DW_TAG_module;
}

std::string inner_scope(const std::string& outer, std::uint16_t tag, std::string_view name) {
    if (!is_scope(tag) || outer.size() + name.size() > most_scope_size) return outer;
    if (name.empty()) name = tag == DW_TAG_namespace ? "(anonymous namespace)" : "(anonymous)";
    return (outer + std::string(name)).append("::");
}

}  // namespace

std::map<std::uint64_t, std::string> find_scopes(const DwarfFile& file, const DwarfUnit& unit,
                                                 std::span<const std::uint64_t> offsets) {
    std::map<std::uint64_t, std::string> found;
    std::vector<std::string> scopes;  // of the open DIEs; the last one is around the next DIE
    const auto table = file.abbreviations(unit);
    ByteCursor cursor(unit.sections->info.first(unit.end), unit.first_die);
    auto wanted = offsets.begin();
    while (wanted != offsets.end() && !cursor.at_end() && scopes.size() < most_depth) {
        const std::uint64_t offset = cursor.offset(), code = cursor.uleb();
        while (wanted != offsets.end() && *wanted < offset) ++wanted;
        if (code == 0) {
            if (scopes.size() <= 1) break;
            scopes.pop_back();
            continue;
        }
        const Abbreviation* abbreviation = table->find(code);
        if (abbreviation == nullptr) break;
        if (wanted != offsets.end() && offset == *wanted && !scopes.empty() && !scopes.back().empty())
            found.emplace(offset, scopes.back());
        DwarfValue name, sibling;
        for (const AttributeSpec& spec : table->attributes(*abbreviation)) {
            if (spec.name == DW_AT_name)
                name = read_value(cursor, spec, unit.format);
            else if (spec.name == DW_AT_sibling)
                sibling = read_value(cursor, spec, unit.format);
            else
                skip_value(cursor, spec, unit.format);
        }
        if (!abbreviation->has_children) continue;
        const DieReference next = sibling ? file.follow(unit, sibling) : DieReference{};
        if (next.unit == &unit && next.offset > cursor.offset() && wanted != offsets.end() && *wanted >= next.offset) {
            cursor.seek(next.offset);
            continue;
        }
        const std::string outer = scopes.empty() ? std::string{} : scopes.back();
        scopes.push_back(
            inner_scope(outer, abbreviation->tag,
                        is_scope(abbreviation->tag) ? unit.text(name, file.alternate_sections()) : std::string_view{}));
    }
    return found;
}

}  // namespace flameprobe
