#include "symbolize/dwarf_scopes.hpp"

#include <algorithm>
#include <string_view>

namespace flameprobe {

namespace {

constexpr std::size_t most_scope_size = 1 << 16;  // bytes of one scope's text

bool is_scope(int tag) {
    return tag == DW_TAG_namespace || tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
           tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type || tag == DW_TAG_interface_type ||
           tag == DW_TAG_module;
}

std::string inner_scope(const std::string& outer, int tag, const char* given) {
    std::string_view name = given == nullptr ? "" : given;
    if (outer.size() + name.size() > most_scope_size) return outer;
    if (name.empty()) name = tag == DW_TAG_namespace ? "(anonymous namespace)" : "(anonymous)";
    return (outer + std::string(name)).append("::");
}

/// Where the DIE behind the subtree begins; null if the compiler does not tell.
const void* sibling_of(const Dwarf_Die& die) {
    auto attribute = attribute_of(die, DW_AT_sibling);
    Dwarf_Die sibling;
    return attribute && ::dwarf_formref_die(&*attribute, &sibling) != nullptr ? sibling.addr : nullptr;
}

}  // namespace

void find_scopes(const Dwarf_Die& unit, std::vector<const void*> dies, std::map<const void*, std::string>& found) {
    struct Scope {
        std::size_t depth;
        std::string text;
    };
    std::vector<Scope> open;
    std::ranges::sort(dies);
    auto wanted = dies.begin();  // the next one
    walk_dies(unit, [&](Dwarf_Die& die, std::size_t depth) {
        while (!open.empty() && open.back().depth >= depth) open.pop_back();
        while (wanted != dies.end() && *wanted < die.addr) ++wanted;
        if (wanted == dies.end()) return false;
        if (*wanted == die.addr && !open.empty()) found.emplace(die.addr, open.back().text);
        if (::dwarf_haschildren(&die) != 1) return false;
        const auto inside = std::upper_bound(wanted, dies.end(), die.addr);
        if (const void* sibling = sibling_of(die); sibling != nullptr && (inside == dies.end() || *inside >= sibling))
            return false;
        const int tag = ::dwarf_tag(&die);
        if (is_scope(tag))
            open.push_back(
                {depth, inner_scope(open.empty() ? std::string() : open.back().text, tag, text_of(die, DW_AT_name))});
        return true;
    });
}

}  // namespace flameprobe
