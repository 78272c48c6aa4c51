#include "future_types.hpp"

#include <algorithm>
#include <cstring>

#include "dwarf_dies.hpp"

namespace flameprobe::async {
namespace {

/// The type that stands for a template's parameter.
std::optional<Dwarf_Die> parameter_of(Dwarf_Die die, std::string_view name) {
    std::optional<Dwarf_Die> type;
    for_each_child(die, [&](Dwarf_Die child) {
        if (::dwarf_tag(&child) == DW_TAG_template_type_parameter && name_of(child) == name)
            type = die_of(child, DW_AT_type);
        return !type;
    });
    return type;
}

}  // namespace

FutureTypes::FutureTypes(const ElfFile& file) : image_(DebugImage::of(file)), dwarf_(begin_dwarf(image_)) {
    scopes_.push_back({0, ""});
    if (!dwarf_) return;
    Dwarf_Off at = 0, next = 0;
    for (std::size_t head = 0; ::dwarf_nextcu(dwarf_.get(), at, &next, &head, nullptr, nullptr, nullptr) == 0;
         at = next) {
        Dwarf_Die unit;
        if (::dwarf_offdie(dwarf_.get(), at + head, &unit) != nullptr) read_unit(unit);
    }
    for (const auto& [die, code] : poll_copies_)
        if (const auto known = poll_dies_.find(die); known != poll_dies_.end()) polls_[code] = known->second;
    find_futures();
}

void FutureTypes::read_unit(Dwarf_Die unit) {
    std::array<std::uint32_t, most_die_depth + 2> around{};  // the scope at each depth
    walk_dies(unit, [&](const Dwarf_Die& die, std::size_t depth) {
        const std::uint32_t outer = around[depth];
        Dwarf_Die copy = die;
        const int tag = ::dwarf_tag(&copy);
        if (tag == DW_TAG_namespace || tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
            tag == DW_TAG_enumeration_type) {
            if (tag != DW_TAG_namespace) take_type(die, outer);
            const char* const name = ::dwarf_diename(&copy);
            scopes_.push_back({outer, name == nullptr ? "" : name});
            around[depth + 1] = static_cast<std::uint32_t>(scopes_.size() - 1);
            return true;
        }
        if (tag == DW_TAG_subprogram) take_function(die, outer);
        if (tag == DW_TAG_variable) take_table(die);
        around[depth + 1] = outer;
        return tag == DW_TAG_variant_part || tag == DW_TAG_variant;
    });
}

void FutureTypes::take_type(Dwarf_Die die, std::uint32_t scope) {
    const std::uint64_t offset = ::dwarf_dieoffset(&die);
    scope_of_[offset] = scope;
    if (!name_of(die).starts_with("Cell<") || !is_in(scope, "tokio::runtime::task::core")) return;
    if (auto future = parameter_of(die, "T")) cells_[::dwarf_dieoffset(&*future)] = offset;
}

// A function that was also inlined has its code at a DIE of its own, which refers to the one with the parameters.
void FutureTypes::take_function(Dwarf_Die die, std::uint32_t scope) {
    const std::string_view name = name_of(die);
    if (name.starts_with("run<") && take_run(die)) return;
    if (name != "poll" && !name.starts_with("poll<")) return;
    Dwarf_Addr code = 0;
    const bool has_code = ::dwarf_lowpc(&die, &code) == 0 && code != 0;
    if (auto origin = die_of(die, DW_AT_abstract_origin)) {
        if (has_code) poll_copies_.emplace_back(::dwarf_dieoffset(&*origin), code);
        return;
    }
    if (is_in(scope, "tokio::runtime::task::raw")) {
        auto future = parameter_of(die, "T");
        if (!future) return;
        poll_dies_[::dwarf_dieoffset(&die)] = ::dwarf_dieoffset(&*future);
        if (has_code) polls_[code] = ::dwarf_dieoffset(&*future);
        return;
    }
    Dwarf_Attribute attribute;
    const char* linkage = ::dwarf_attr_integrate(&die, DW_AT_linkage_name, &attribute) == nullptr
                              ? nullptr
                              : ::dwarf_formstring(&attribute);
    if (linkage == nullptr || std::strstr(linkage, "uture") == nullptr) return;
    for_each_child(die, [&](Dwarf_Die child) {
        if (::dwarf_tag(&child) != DW_TAG_formal_parameter) return true;
        if (auto type = die_of(child, DW_AT_type)) pinned_.push_back(::dwarf_dieoffset(&*type));
        return false;
    });
}

// RawTask<F, T, S>::run: its declaration, in the type, has the parameters; its code is at a DIE of its own.
bool FutureTypes::take_run(const Dwarf_Die& die) {
    Dwarf_Die copy = die;
    Dwarf_Attribute attribute;
    const char* const linkage = ::dwarf_attr_integrate(&copy, DW_AT_linkage_name, &attribute) == nullptr
                                    ? nullptr
                                    : ::dwarf_formstring(&attribute);
    if (linkage == nullptr || std::strstr(linkage, "10async_task3raw") == nullptr) return false;
    auto declared = die_of(die, DW_AT_specification);
    if (auto origin = die_of(die, DW_AT_abstract_origin))
        declared = die_of(*origin, DW_AT_specification).value_or(*origin);
    auto future = parameter_of(declared.value_or(die), "F");
    Dwarf_Addr code = 0;
    if (!future || ::dwarf_lowpc(&copy, &code) != 0 || code == 0) return future.has_value();
    polls_[code] = ::dwarf_dieoffset(&*future);
    return has_runs_ = true;
}

void FutureTypes::take_table(const Dwarf_Die& die) {
    if (!name_of(die).ends_with("{vtable}")) return;
    auto location = attribute_of(die, DW_AT_location);
    Dwarf_Op* operation = nullptr;
    std::size_t count = 0;
    if (!location || ::dwarf_getlocation(&*location, &operation, &count) != 0 || count != 1) return;
    std::uint64_t address = operation->number;
    Dwarf_Attribute from;
    if (operation->atom == DW_OP_addrx) {
        if (::dwarf_getlocation_attr(&*location, operation, &from) != 0 || ::dwarf_formaddr(&from, &address) != 0)
            return;
    } else if (operation->atom != DW_OP_addr) {
        return;
    }
    const auto type = die_of(die, DW_AT_type);
    if (!type) return;
    if (auto of = die_of(*type, DW_AT_containing_type)) tables_[address] = ::dwarf_dieoffset(&*of);
}

// Future::poll takes Pin<&mut Self>. A type has a DIE in each unit that uses it, so futures are known by name.
void FutureTypes::find_futures() {
    std::ranges::sort(pinned_);
    pinned_.erase(std::unique(pinned_.begin(), pinned_.end()), pinned_.end());
    for (const std::uint64_t die : pinned_) {
        Type* type = type_at(die);
        build(*type);
        if (type->name.starts_with("core::pin::Pin<") && !type->members.empty()) type = type->members.front().type;
        build(*type);
        if (type->target == nullptr) continue;
        build(*type->target);
        type->target->is_future = true;
        futures_.insert(type->target->name);
    }
    for (auto& [die, type] : types_) type->is_future = type->is_future || futures_.contains(type->name);
}

std::string FutureTypes::path_of(std::uint32_t scope) const {
    std::string path;
    for (; scope != 0; scope = scopes_[scope].parent)
        path = path.empty() ? scopes_[scope].name : std::string(scopes_[scope].name).append("::").append(path);
    return path;
}

Type* FutureTypes::type_at(std::uint64_t die) {
    auto& type = types_[die];
    if (!type) {
        type = std::make_unique<Type>();
        type->die = die;
    }
    return type.get();
}

Type* FutureTypes::type_of(const Dwarf_Die& die) {
    auto type = die_of(die, DW_AT_type);
    return type ? type_at(::dwarf_dieoffset(&*type)) : nullptr;
}

Type* FutureTypes::cell_of(std::uint64_t poll) {
    const auto future = polls_.find(poll);
    const auto cell = future == polls_.end() ? cells_.end() : cells_.find(future->second);
    if (cell == cells_.end()) return nullptr;
    Type* const type = type_at(cell->second);
    build(*type);
    return type;
}

Type* FutureTypes::future_of(std::uint64_t run) {
    const auto future = polls_.find(run);
    if (future == polls_.end()) return nullptr;
    Type* const type = type_at(future->second);
    build(*type);
    return type;
}

Type* FutureTypes::behind(std::uint64_t table) {
    const auto known = tables_.find(table);
    return known == tables_.end() ? nullptr : type_at(known->second);
}

}  // namespace flameprobe::async
