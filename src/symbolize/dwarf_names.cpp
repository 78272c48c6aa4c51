#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "symbolize/demangle.hpp"
#include "symbolize/dwarf_functions.hpp"

namespace flameprobe {

namespace {

constexpr std::size_t most_scope_size = 1 << 16;  // bytes of one scope's text
constexpr std::size_t most_closures = 1 << 16;    // of one scope
constexpr int most_nesting = 4;                   // of functions that are declared in functions

bool is_closure(const Dwarf_Die& die, int tag) {
    if (!is_class(tag) || text_of(die, DW_AT_name) != nullptr) return false;
    bool callable = false;
    walk_dies(die, [&](Dwarf_Die& member, std::size_t) {
        const char* const name = ::dwarf_tag(&member) == DW_TAG_subprogram ? text_of(member, DW_AT_name) : nullptr;
        callable = callable || (name != nullptr && std::string_view(name).starts_with("operator()"));
        return false;
    });
    return callable;
}

/// The closures of one scope, in blocks too but not in nested scopes, in the order of the source, which is not clang's
/// order of DIEs.
std::vector<const void*> closures_of(const Dwarf_Die& scope) {
    std::vector<std::tuple<Dwarf_Word, Dwarf_Word, const void*>> closures;
    walk_dies(scope, [&](Dwarf_Die& die, std::size_t) {
        const int tag = ::dwarf_tag(&die);
        if (is_closure(die, tag) && closures.size() < most_closures)
            closures.emplace_back(number_of(die, DW_AT_decl_line), number_of(die, DW_AT_decl_column), die.addr);
        return is_block(tag);
    });
    std::ranges::sort(closures);
    std::vector<const void*> dies;
    for (const auto& closure : closures) dies.push_back(std::get<const void*>(closure));
    return dies;
}

/// `run(Config const&)::`, by demangling the made-up name of something in that function. Empty if it has no linkage
/// name.
std::string function_scope(const DieName& name) {
    constexpr std::string_view prefix = "_Z", stand_in = "x";
    if (name.linkage == nullptr || !std::string_view(name.linkage).starts_with(prefix)) return {};
    std::string text = demangle("_ZZ" + std::string(name.linkage + prefix.size()) + "E1x");
    if (text.starts_with(prefix) || !text.ends_with(stand_in)) return {};
    text.resize(text.size() - stand_in.size());
    return text;
}

/// Where the DIE after the subtree begins, by DW_AT_sibling; null if the compiler wrote none.
const void* sibling_of(const Dwarf_Die& die) {
    auto attribute = attribute_of(die, DW_AT_sibling);
    Dwarf_Die sibling;
    return attribute && ::dwarf_formref_die(&*attribute, &sibling) != nullptr ? sibling.addr : nullptr;
}

/// For each of the DIEs (by their place in memory) below `unit` the scopes around it, such as `std::vector<int>::` or
/// `run(Config const&)::{lambda#2}::`; DIEs without any are left out. A closure, which has no name, gets its number
/// among the closures of the scope around it, in the order of the source; so no two closures have the same name.
/// Subtrees without a wanted DIE are skipped by DW_AT_sibling.
class ScopeWalk {
public:
    ScopeWalk(const Dwarf_Die& unit, std::vector<const void*> dies, std::map<const void*, std::string>& found,
              int nesting = 0)
        : unit_(unit), dies_(std::move(dies)), found_(found), nesting_(nesting) {
        std::ranges::sort(dies_);
        wanted_ = dies_.begin();
    }
    void run() {
        walk_dies(unit_, [this](Dwarf_Die& die, std::size_t depth) { return visit(die, depth); });
    }

private:
    /// Text and closures are computed at first use.
    struct Scope {
        std::size_t depth;
        int tag;
        Dwarf_Die die;
        std::optional<std::string> text{};
    };

    bool visit(Dwarf_Die& die, std::size_t depth) {
        while (!open_.empty() && open_.back().depth >= depth) open_.pop_back();
        while (wanted_ != dies_.end() && *wanted_ < die.addr) ++wanted_;
        if (wanted_ == dies_.end()) return false;
        if (*wanted_ == die.addr) {
            // Functions directly in functions (Ada, Fortran, GNU C) are called by their own names.
            std::size_t scopes = open_.size();
            while (scopes > 0 && open_[scopes - 1].tag == DW_TAG_subprogram) --scopes;
            if (scopes > 0) found_.emplace(die.addr, text(scopes - 1));
        }
        if (::dwarf_haschildren(&die) != 1) return false;
        const auto inside = std::upper_bound(wanted_, dies_.cend(), die.addr);
        if (const void* sibling = sibling_of(die); sibling != nullptr && (inside == dies_.cend() || *inside >= sibling))
            return false;
        if (const int tag = ::dwarf_tag(&die); is_scope(tag)) open_.push_back({depth, tag, die});
        return true;
    }

    const std::string& text(std::size_t index) {
        Scope& scope = open_[index];
        if (scope.text) return *scope.text;
        const std::string outer = index > 0 ? text(index - 1) : std::string();
        if (scope.tag == DW_TAG_subprogram) {
            const DieName name = name_of(scope.die);
            if (scope.text = function_scope(name); !scope.text->empty()) return *scope.text;
            const std::string plain = name.plain == nullptr ? "(anonymous)" : name.plain;
            return *(scope.text = inner(scope_of_function(name, scope.die, outer), plain + parameters_of(name.named)));
        }
        const char* const name = text_of(scope.die, DW_AT_name);
        if (name != nullptr && *name != '\0') return *(scope.text = inner(outer, name));
        if (scope.tag == DW_TAG_namespace) return *(scope.text = inner(outer, "(anonymous namespace)"));
        const std::size_t number = is_closure(scope.die, scope.tag) ? number_of_closure(index) : 0;
        return *(scope.text = inner(outer, number == 0 ? "(anonymous)" : "{lambda#" + std::to_string(number) + "}"));
    }
    /// The DIE with a function's code may stand outside of the namespace or class that declares the function, and
    /// refers to its declaration there.
    std::string scope_of_function(const DieName& name, const Dwarf_Die& function, const std::string& outer) {
        if (name.named.addr == nullptr || name.named.addr == function.addr || nesting_ >= most_nesting) return outer;
        Dwarf_Die unit, named = name.named;
        if (::dwarf_diecu(&named, &unit, nullptr, nullptr) == nullptr) return outer;
        std::map<const void*, std::string> found;
        ScopeWalk(unit, {named.addr}, found, nesting_ + 1).run();
        return found[named.addr];
    }
    static std::string inner(const std::string& outer, const std::string& name) {
        return outer.size() + name.size() > most_scope_size ? outer : outer + name + "::";
    }

    /// The number of a closure, from 1 on; 0 if it is not known.
    std::size_t number_of_closure(std::size_t index) {
        const Dwarf_Die& around = index > 0 ? open_[index - 1].die : unit_;
        const auto [entry, is_new] = closures_.try_emplace(around.addr);
        if (is_new) entry->second = closures_of(around);
        const auto at = std::ranges::find(entry->second, open_[index].die.addr);
        return at == entry->second.end() ? 0 : static_cast<std::size_t>(at - entry->second.begin()) + 1;
    }

    const Dwarf_Die& unit_;
    std::vector<const void*> dies_;
    std::map<const void*, std::string>& found_;
    int nesting_;
    std::vector<const void*>::const_iterator wanted_;  // the next one
    std::vector<Scope> open_;
    std::map<const void*, std::vector<const void*>> closures_;  // by the scope around them
};

/// Whether the unit is in C, which has no scopes to look for.
bool is_c(Dwarf_Die unit) {
    constexpr std::array<int, 4> languages = {DW_LANG_C89, DW_LANG_C, DW_LANG_C99, DW_LANG_C11};
    return std::ranges::find(languages, ::dwarf_srclang(&unit)) != languages.end();
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
    for (auto& [address, of_unit] : wanted) ScopeWalk(of_unit.unit, of_unit.dies, scopes).run();
    return scopes;
}

}  // namespace flameprobe
