#include "capture/alloc/host_allocations.hpp"

#include <algorithm>

namespace flameprobe::alloc {
namespace {

constinit const Table* of_host = nullptr;

// The thread may be at work on it: `left` and `offset` belong together only while `version` stays even.
Totals read(const Record& record) noexcept {
    const auto get = [](const auto& value) { return __atomic_load_n(&value, __ATOMIC_ACQUIRE); };
    constexpr int most_tries = 1000;
    Totals totals;
    for (int i = 0; i < most_tries; ++i) {
        const std::uint32_t before = record.version.load(std::memory_order_acquire);
        totals = {get(record.offset) - get(record.left), get(record.calls)};
        if (before % 2 == 0 && record.version.load(std::memory_order_acquire) == before) break;
    }
    return totals;
}

}  // namespace

void use_table(const Table* table) noexcept {
    of_host = table != nullptr && table->version == table_version ? table : nullptr;
}
const Table* table() noexcept { return of_host; }
State* host_state() noexcept { return of_host == nullptr ? nullptr : of_host->state(); }

void expect_filter() noexcept {
    if (of_host != nullptr) of_host->go_silent();
}

bool any_unattended() noexcept {
    const State* const state = host_state();
    return state != nullptr && !state->attended.load(std::memory_order_relaxed) &&
           state->unattended.load(std::memory_order_relaxed);
}

Totals read_totals(const State& state) noexcept {
    Totals sum{state.loose_bytes.load(std::memory_order_relaxed), state.loose_calls.load(std::memory_order_relaxed)};
    const std::uint32_t used = std::min(state.records_used.load(std::memory_order_acquire), state.record_count);
    for (std::uint32_t i = 0; i < used; ++i) {
        const Totals one = read(state.records[i]);
        sum.bytes += one.bytes;
        sum.calls += one.calls;
    }
    return sum;
}

}  // namespace flameprobe::alloc
