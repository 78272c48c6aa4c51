// The members and states of types, and which of them lead to futures.
#include <algorithm>

#include "dwarf_dies.hpp"
#include "future_names.hpp"
#include "future_types.hpp"

namespace flameprobe::async {
namespace {

constexpr int most_depth = 40;

/// Whether a type's own name, not one of its parameters', is that of an async function's or block's state.
bool is_async_state(std::string_view name) {
    constexpr std::array<std::string_view, 3> kinds = {"{async_fn_env#", "{async_block_env#", "{async_closure_env#"};
    int depth = 0;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name[i] == '<') ++depth;
        if (name[i] == '>' && (i == 0 || name[i - 1] != '-')) --depth;
        if (depth != 0 || name[i] != '{') continue;
        if (starts_with_any(name.substr(i), kinds)) return name.find("::Suspend", i) == name.npos;
    }
    return false;
}

bool leads_to_future(std::string_view pointer) {
    return pointer.find("dyn") != pointer.npos &&
           (pointer.find("Future") != pointer.npos || pointer.find("Stream") != pointer.npos);
}

}  // namespace

bool is_shared(std::string_view type) {
    constexpr std::array<std::string_view, 9> shared = {
        "alloc::sync::Arc<", "alloc::sync::Weak<", "alloc::rc::Rc<",      "tokio::runtime::",         "core::task::",
        "alloc::vec::Vec<",  "alloc::string::",    "tokio::sync::mpsc::", "core::marker::PhantomData"};
    return starts_with_any(type, shared);
}

void FutureTypes::build(Type& type) {
    if (type.built) return;
    type.built = true;
    Dwarf_Die die;
    if (::dwarf_offdie(dwarf_.get(), type.die, &die) == nullptr) return;
    type.tag = ::dwarf_tag(&die);
    const auto scope = scope_of_.find(type.die);
    if (scope != scope_of_.end()) type.name = path_of(scope->second);
    type.name.append(type.name.empty() ? "" : "::").append(name_of(die));
    if (type.tag == DW_TAG_pointer_type)
        type.target = type_of(die);
    else if (type.tag == DW_TAG_structure_type)
        read_members(die, type);
    const auto is = [&](std::size_t at, std::string_view name) { return type.members[at].name == name; };
    type.is_fat =
        type.members.size() == 2 && ((is(0, "pointer") && is(1, "vtable")) || (is(1, "pointer") && is(0, "vtable")));
    type.is_coroutine = type.is_enum && is_async_state(type.name);
    type.is_future = type.is_future || type.is_coroutine || futures_.contains(type.name);
}

void FutureTypes::read_members(Dwarf_Die die, Type& type) {
    for_each_child(die, [&](Dwarf_Die child) {
        const int tag = ::dwarf_tag(&child);
        if (tag == DW_TAG_variant_part) read_variants(child, type);
        Type* const of = tag == DW_TAG_member ? type_of(child) : nullptr;
        if (of != nullptr) type.members.push_back({name_of(child), number_of(child, DW_AT_data_member_location), of});
        return true;
    });
}

void FutureTypes::read_variants(Dwarf_Die part, Type& type) {
    type.is_enum = true;
    if (auto state = die_of(part, DW_AT_discr)) {
        type.state_offset = number_of(*state, DW_AT_data_member_location);
        if (auto number = die_of(*state, DW_AT_type)) type.state_size = number_of(*number, DW_AT_byte_size);
    }
    for_each_child(part, [&](Dwarf_Die variant) {
        if (::dwarf_tag(&variant) != DW_TAG_variant) return true;
        Dwarf_Die member;
        if (::dwarf_child(&variant, &member) != 0 || ::dwarf_tag(&member) != DW_TAG_member) return true;
        Variant found;
        found.type = type_of(member);
        if (found.type == nullptr) return true;
        found.offset = number_of(member, DW_AT_data_member_location);
        int line = 0;
        if (const char* const file = ::dwarf_decl_file(&member)) found.file = file;
        if (::dwarf_decl_line(&member, &line) == 0) found.line = static_cast<std::uint32_t>(line);
        if (!attribute_of(variant, DW_AT_discr_value)) {
            type.other = std::move(found);
            return true;
        }
        constexpr std::uint64_t bits = 8;
        std::uint64_t value = number_of(variant, DW_AT_discr_value);
        if (type.state_size != 0 && type.state_size < sizeof value)
            value &= (std::uint64_t{1} << (bits * type.state_size)) - 1;
        type.variants[value] = std::move(found);
        return true;
    });
}

bool FutureTypes::holds_future(Type& type, int depth) {
    build(type);
    if (type.holds == Type::Holds::unknown && depth <= most_depth) {
        type.holds = Type::Holds::asked;
        type.holds = holds(type, depth) ? Type::Holds::yes : Type::Holds::no;
    }
    return type.holds == Type::Holds::yes;
}

bool FutureTypes::holds(Type& type, int depth) {
    if (type.is_future) return true;
    if (is_shared(type.name)) return false;
    if (type.is_fat)
        return std::ranges::any_of(
                   type.members,
                   [&](const Member& member) {
                       build(*member.type);
                       if (member.type->target != nullptr) build(*member.type->target);
                       return leads_to_future(member.type->name) ||
                              (member.type->target != nullptr && leads_to_future(member.type->target->name));
                   }) ||
               leads_to_future(type.name);
    if (type.tag == DW_TAG_pointer_type) {
        if (type.target == nullptr) return false;
        build(*type.target);
        return type.name.starts_with("*const") ? type.target->is_coroutine : holds_future(*type.target, depth + 1);
    }
    for (const Member& member : type.members)
        if (holds_future(*member.type, depth + 1)) return true;
    for (const auto& [state, variant] : type.variants)
        if (holds_future(*variant.type, depth + 1)) return true;
    return type.other && holds_future(*type.other->type, depth + 1);
}

}  // namespace flameprobe::async
