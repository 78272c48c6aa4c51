// Rules by address: remembered, or made from the unwind tables of the code there.
#pragma once

#include <cstddef>
#include <vector>

#include "unwind/cfi_tables.hpp"
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
    const UnwindRule* fill(std::uint64_t lookup);
    StackStart stack_start(const UnwindRule& rule, const ModuleTable::Tables& tables) const;
    void look_at_code(const CodeRegion& region, const ModuleTable::Tables& tables, UnwindRule& rule) const;
    void forget_unmapped();

    const CodeMap& map_;
    const bool with_records_;
    std::uint64_t generation_ = 0;
    RuleCache cache_;
    ModuleTable modules_;
    std::uint64_t hits_ = 0, misses_ = 0;
};

}  // namespace flameprobe
