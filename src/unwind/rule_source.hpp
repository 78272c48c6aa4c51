// Rules by address: remembered, or made from the unwind tables of the code there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "unwind/cfi_tables.hpp"
#include "unwind/code_bytes.hpp"
#include "unwind/cursor.hpp"
#include "unwind/unwind_rule.hpp"

namespace flameprobe {

/// Rules remembered by absolute address: open addressing, linear probing, no deletion one by one. One thread only. A
/// pointer it gives is valid until the next insert or keep_if.
class RuleCache {
public:
    static constexpr std::size_t first_size = 1u << 9, last_size = 1u << 16;  // rules: 16 KiB to 2 MiB

    const UnwindRule* find(std::uint64_t address) const {
        for (std::size_t i = place(address);; i = (i + 1) & mask_) {
            if (rules_[i].address == address && rules_[i].kind != RuleKind::empty) return &rules_[i];
            if (rules_[i].kind == RuleKind::empty) return nullptr;
        }
    }
    /// `rule.address` must not be in the cache yet.
    const UnwindRule* insert(const UnwindRule& rule) {
        if ((used_ + 1) * 2 > rules_.size()) grow();
        return put(rule);
    }
    template <class Predicate>
    void keep_if(Predicate keep) {
        std::vector<UnwindRule> old(rules_.size());
        old.swap(rules_);
        used_ = 0;
        for (const UnwindRule& rule : old)
            if (rule.kind != RuleKind::empty && keep(rule)) put(rule);
    }
    std::size_t size() const { return used_; }
    std::size_t memory() const { return rules_.capacity() * sizeof(UnwindRule); }

private:
    // Fibonacci hashing: return addresses share their low bits' distribution, so take the product's high ones.
    std::size_t place(std::uint64_t address) const { return (address * 0x9e3779b97f4a7c15u) >> 40 & mask_; }
    const UnwindRule* put(const UnwindRule& rule) {
        std::size_t i = place(rule.address);
        while (rules_[i].kind != RuleKind::empty) i = (i + 1) & mask_;
        rules_[i] = rule;
        ++used_;
        return &rules_[i];
    }
    // At its full size the cache is emptied, so that a program with more than 32,768 distinct hot addresses does not
    // make it take ever more of the host's memory.
    void grow() {
        const bool full = rules_.size() >= last_size;
        std::vector<UnwindRule> old(full ? rules_.size() : rules_.size() * 2);
        old.swap(rules_);
        mask_ = rules_.size() - 1;
        used_ = 0;
        if (full) return;
        for (const UnwindRule& rule : old)
            if (rule.kind != RuleKind::empty) put(rule);
    }

    std::vector<UnwindRule> rules_ = std::vector<UnwindRule>(first_size);
    std::size_t mask_ = first_size - 1;
    std::size_t used_ = 0;
};

/// One thread only.
class RuleSource {
public:
    /// `with_records`: look for UnwindRule::record and UnwindRule::after_syscall at every address, not only where there
    /// is no CFI.
    RuleSource(const CodeMap& map, bool with_records) : map_(map), with_records_(with_records) {}

    /// To be called before each walk: forgets the rules and tables of code that is no longer mapped.
    void start() {
        if (map_.generation() != generation_) forget_unmapped();
    }
    /// The rule for `lookup`, or null if that is not code. Valid until the next call.
    const UnwindRule* rule(std::uint64_t lookup) {
        const UnwindRule* const known = cache_.find(lookup);
        hits_ += known != nullptr;
        return known != nullptr ? known : fill(lookup);
    }
    ModuleTable& modules() { return modules_; }
    const CodeMap& map() const { return map_; }
    std::uint64_t hits() const { return hits_; }
    std::uint64_t misses() const { return misses_; }
    std::size_t memory() const { return cache_.memory(); }

private:
    const UnwindRule* fill(std::uint64_t lookup) {
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
    /// libco have it, or a trap behind a jump (corosensei), or code without tables: libaco's, or known by its bytes
    /// (Boost).
    StackStart stack_start(const UnwindRule& rule, const ModuleTable::Tables& tables) const {
        const std::uint64_t returns_to = rule.address + 1;
        const bool begins_function = tables.cfi->begins_function(returns_to, tables.bias);
        const bool is_odd = rule.kind == RuleKind::no_cfi || rule.kind == RuleKind::irregular || rule.signal_frame;
        if (!begins_function && !is_odd) return StackStart::no;
        const bool after_call = read_call_site(returns_to, map_).kind != CallSite::Kind::none;
        if (!after_call && known_stack_start(returns_to)) return StackStart::by_bytes;
        if (!after_call && is_trap(returns_to)) return StackStart::by_tables;
        const bool untabled = !after_call && rule.kind == RuleKind::no_cfi && !returns_from_signal(returns_to);
        if (untabled) return StackStart::untabled;
        if (!begins_function) return StackStart::no;
        const UnwindRule first = tables.cfi->rule(returns_to, tables.bias);
        const bool described = first.kind != RuleKind::no_cfi && !first.signal_frame;
        return described ? StackStart::by_tables : StackStart::no;
    }
    void look_at_code(const CodeRegion& region, const ModuleTable::Tables& tables, UnwindRule& rule) const {
        constexpr std::uint64_t searched = 16384;  // a just-in-time compiler's functions are long
        rule.record = record_state(rule.address);
        rule.after_syscall = after_syscall(rule.address);
        // For a caller, `rule.address` is the last byte of its call.
        const bool is_caller = read_call_site(rule.address + 1, map_).kind != CallSite::Kind::none;
        rule.in_file = region.kind != RegionKind::anonymous;
        rule.from_code = rule.kind == RuleKind::no_cfi && epilogue_rule(rule.address + (is_caller ? 1 : 0), rule);
        // A compiler at run time makes its tail calls so.
        if (rule.ra_register != UnwindRule::none) rule.from_code = rule.from_code && rule.in_file;
        if (rule.kind == RuleKind::no_cfi && !rule.from_code) rule.cfa_offset = frame_before_record(rule.address);
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
    void forget_unmapped() {
        generation_ = map_.generation();
        modules_.forget_all_but(map_);
        std::vector<std::uint32_t> alive;
        for (const auto& region : map_.regions()) alive.push_back(region->id);
        std::sort(alive.begin(), alive.end());
        cache_.keep_if(
            [&](const UnwindRule& rule) { return std::binary_search(alive.begin(), alive.end(), rule.region); });
    }

    const CodeMap& map_;
    const bool with_records_;
    std::uint64_t generation_ = 0;
    RuleCache cache_;
    ModuleTable modules_;
    std::uint64_t hits_ = 0, misses_ = 0;
};

}  // namespace flameprobe
