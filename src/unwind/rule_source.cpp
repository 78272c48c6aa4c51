#include "unwind/rule_source.hpp"

#include <algorithm>
#include <vector>

#include "unwind/code_bytes.hpp"

namespace flameprobe {

const UnwindRule* RuleSource::fill(std::uint64_t lookup) {
    // Not remembered: a damaged stack offers any number of different addresses, and the map says no quickly.
    const CodeRegion* const region = map_.find(lookup);
    if (region == nullptr) return nullptr;
    ++misses_;
    const auto tables = modules_.find(*region);
    UnwindRule rule;
    rule.kind = RuleKind::no_cfi;
    if (tables.cfi != nullptr) rule = tables.cfi->rule(lookup, tables.bias);
    rule.address = lookup;
    rule.region = region->id;
    if (tables.cfi != nullptr && tables.cfi->is_go() && go_runtime_rule(lookup, rule)) return cache_.insert(rule);
    if ((rule.kind == RuleKind::no_cfi || rule.signal_frame) && known_code_rule(lookup, rule))
        return cache_.insert(rule);
    if (tables.cfi != nullptr) rule.starts_stack = stack_start(rule, tables);
    if (rule.kind == RuleKind::no_cfi || with_records_) look_at_code(*region, tables, rule);
    return cache_.insert(rule);
}

/// What a coroutine's first function returns to is the first instruction of a function, as glibc's makecontext and
/// libco have it, or a trap behind a jump (corosensei), or code without tables, known by its bytes (Boost).
StackStart RuleSource::stack_start(const UnwindRule& rule, const ModuleTable::Tables& tables) const {
    const std::uint64_t returns_to = rule.address + 1;
    const bool begins_function = tables.cfi->begins_function(returns_to, tables.bias);
    const bool is_odd = rule.kind == RuleKind::no_cfi || rule.kind == RuleKind::irregular || rule.signal_frame;
    if (!begins_function && !is_odd) return StackStart::no;
    const bool after_call = read_call_site(returns_to, map_).kind != CallSite::Kind::none;
    if (!after_call && known_stack_start(returns_to)) return StackStart::by_bytes;
    if (!after_call && is_trap(returns_to)) return StackStart::by_tables;
    if (!begins_function) return StackStart::no;
    const UnwindRule first = tables.cfi->rule(returns_to, tables.bias);
    const bool described = first.kind != RuleKind::no_cfi && !first.signal_frame;
    return described ? StackStart::by_tables : StackStart::no;
}

void RuleSource::look_at_code(const CodeRegion& region, const ModuleTable::Tables& tables, UnwindRule& rule) const {
    constexpr std::uint64_t searched = 16384;  // a just-in-time compiler's functions are long
    rule.record = record_state(rule.address);
    rule.after_syscall = after_syscall(rule.address);
    // For a caller, `rule.address` is the last byte of its call.
    const bool is_caller = read_call_site(rule.address + 1, map_).kind != CallSite::Kind::none;
    rule.from_code = rule.kind == RuleKind::no_cfi && epilogue_rule(rule.address + (is_caller ? 1 : 0), rule);
    if (rule.kind == RuleKind::no_cfi && !rule.from_code) rule.cfa_offset = frame_before_record(rule.address);
    rule.in_file = region.kind != RegionKind::anonymous;
    // All of Go's functions with a frame keep records, by instructions that differ from release to release.
    rule.keeps_records = tables.cfi != nullptr && tables.cfi->is_go();
    if (rule.keeps_records) return;
    const std::uint64_t set_up = last_record_set_up(map_.code_since(rule.address, searched), rule.address);
    // Code with CFI before this hole says nothing about the hole.
    rule.keeps_records =
        set_up != 0 && (tables.cfi == nullptr || tables.cfi->rule(set_up, tables.bias).kind == RuleKind::no_cfi);
    if (rule.kind == RuleKind::no_cfi && !rule.in_file && !rule.keeps_records && !rule.from_code)
        rule.from_code = entry_frame_rule(region.start, rule) ||
                         fixed_frame_rule(map_.code_since(rule.address, 4 * searched), rule.address, rule);
}

void RuleSource::forget_unmapped() {
    generation_ = map_.generation();
    modules_.forget_all_but(map_);
    std::vector<std::uint32_t> alive;
    for (const auto& region : map_.regions()) alive.push_back(region->id);
    std::sort(alive.begin(), alive.end());
    cache_.keep_if([&](const UnwindRule& rule) { return std::binary_search(alive.begin(), alive.end(), rule.region); });
}

}  // namespace flameprobe
