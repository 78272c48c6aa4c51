#include "unwind/rule_source.hpp"

#include <algorithm>
#include <vector>

#include "unwind/code_bytes.hpp"
#include "unwind/known_code.hpp"

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
    if (rule.kind == RuleKind::no_cfi || with_records_) look_at_code(*region, tables, rule);
    return cache_.insert(rule);
}

void RuleSource::look_at_code(const CodeRegion& region, const ModuleTable::Tables& tables, UnwindRule& rule) const {
    constexpr std::uint64_t searched = 16384;  // a just-in-time compiler's functions are long
    rule.record = record_state(rule.address);
    rule.after_syscall = after_syscall(rule.address);
    // For a caller, `rule.address` is the last byte of its call.
    const bool is_caller = read_call_site(rule.address + 1, map_).kind != CallSite::Kind::none;
    rule.from_epilogue = rule.kind == RuleKind::no_cfi && epilogue_rule(rule.address + (is_caller ? 1 : 0), rule);
    if (rule.kind == RuleKind::no_cfi && !rule.from_epilogue) rule.cfa_offset = frame_before_record(rule.address);
    rule.in_file = region.kind != RegionKind::anonymous;
    // All of Go's functions with a frame keep records, by instructions that differ from release to release.
    rule.keeps_records = tables.cfi != nullptr && tables.cfi->is_go();
    if (rule.keeps_records) return;
    const std::uint64_t set_up = last_record_set_up(map_.code_since(rule.address, searched), rule.address);
    // Code with CFI before this hole says nothing about the hole.
    rule.keeps_records =
        set_up != 0 && (tables.cfi == nullptr || tables.cfi->rule(set_up, tables.bias).kind == RuleKind::no_cfi);
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
