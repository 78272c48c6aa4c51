// Rows by address: remembered, or made from the tables of the code they lie in.
#pragma once

#include "unwind/cursor.hpp"
#include "unwind/module_table.hpp"
#include "unwind/row_cache.hpp"

namespace flameprobe {

/// One thread only.
class RowSource {
public:
    /// `with_records`: look for Row::record and Row::after_syscall at every address, not only where there is no CFI.
    RowSource(const CodeMap& map, bool with_records) : map_(map), with_records_(with_records) {}

    /// Before each walk: forgets what belongs to code that is no longer mapped.
    void start() {
        if (map_.generation() != generation_) forget_unmapped();
    }
    /// The row for `lookup`, or null if that is not code. Valid until the next call.
    const Row* row(std::uint64_t lookup) {
        const Row* const known = cache_.find(lookup);
        hits_ += known != nullptr;
        return known != nullptr ? known : fill(lookup);
    }
    ModuleTable& modules() { return modules_; }
    const CodeMap& map() const { return map_; }
    std::uint64_t hits() const { return hits_; }
    std::uint64_t misses() const { return misses_; }
    std::size_t memory() const { return cache_.memory(); }

private:
    const Row* fill(std::uint64_t lookup);
    void look_at_code(const CodeRegion& region, const ModuleTable::Tables& tables, Row& row) const;
    void forget_unmapped();

    const CodeMap& map_;
    const bool with_records_;
    std::uint64_t generation_ = 0;
    RowCache cache_;
    ModuleTable modules_;
    std::uint64_t hits_ = 0, misses_ = 0;
};

}  // namespace flameprobe
