#include "unwind/row_source.hpp"

#include <algorithm>
#include <vector>

#include "unwind/call_bytes.hpp"
#include "unwind/code_bytes.hpp"

namespace flameprobe {

const Row* RowSource::fill(std::uint64_t lookup) {
    // Not remembered: a damaged stack offers any number of different addresses, and the map says no quickly.
    const CodeRegion* const region = map_.find(lookup);
    if (region == nullptr) return nullptr;
    ++misses_;
    const auto tables = modules_.find(*region);
    Row row;
    row.kind = RowKind::no_cfi;
    if (tables.cfi != nullptr) row = tables.cfi->row(lookup, tables.bias);
    row.address = lookup;
    row.region = region->id;
    if (row.kind == RowKind::no_cfi || with_records_) look_at_code(*region, tables, row);
    return cache_.insert(row);
}

void RowSource::look_at_code(const CodeRegion& region, const ModuleTable::Tables& tables, Row& row) const {
    constexpr std::uint64_t searched = 16384;  // a just-in-time compiler's functions are long
    row.record = record_state(row.address);
    row.after_syscall = after_syscall(row.address);
    // A caller's row is asked for by the last byte of its call.
    const bool is_caller = read_call_site(row.address + 1, map_).kind != CallSite::Kind::none;
    row.leads_out = row.kind == RowKind::no_cfi && way_out(row.address + (is_caller ? 1 : 0), row);
    row.in_file = region.kind != RegionKind::anonymous;
    const std::uint64_t from = row.address - std::min(row.address - region.start, searched);
    const std::uint64_t set_up = last_record_set_up(from, row.address);
    // Code with CFI before this hole says nothing about the hole.
    row.keeps_records =
        set_up != 0 && (tables.cfi == nullptr || tables.cfi->row(set_up, tables.bias).kind == RowKind::no_cfi);
}

void RowSource::forget_unmapped() {
    generation_ = map_.generation();
    modules_.forget_all_but(map_);
    std::vector<std::uint32_t> alive;
    for (const auto& region : map_.regions()) alive.push_back(region->id);
    std::sort(alive.begin(), alive.end());
    cache_.keep_if([&](const Row& row) { return std::binary_search(alive.begin(), alive.end(), row.region); });
}

}  // namespace flameprobe
