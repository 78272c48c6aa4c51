// Rules by address: remembered, or made from the unwind tables of the code there.
#pragma once

#include "unwind/cursor.hpp"
#include "unwind/module_table.hpp"
#include "unwind/rule_cache.hpp"

namespace flameprobe {

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
