#include "capture/alloc/host_allocations.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "capture/map_watch.hpp"

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

void ThreadStacks::sampled(const handler::CellHead& cell) {
    if (cell.slot >= state_.record_count) return;
    const Record& record = state_.records[cell.slot];
    const Wanted wanted{cell.slot, cell.generation, cell.tid == static_cast<std::uint32_t>(state_.samples.pid)};
    // The main thread's stack grows; other code may also be on a stack of its own, which cannot be known.
    const bool grown = wanted.is_main && cell.registers.sp() < record.stack_low.load(std::memory_order_relaxed);
    if (record.stack_of.load(std::memory_order_relaxed) == cell.generation && !grown) return;
    constexpr std::size_t most = 256;
    if (wanted_.size() >= most || std::find(wanted_.begin(), wanted_.end(), wanted) != wanted_.end()) return;
    wanted_.push_back(wanted);
}

void ThreadStacks::find(std::uint64_t now_ns) {
    if (wanted_.empty() || now_ns < next_ns_) return;
    const auto maps = read_proc_maps();
    const std::uint64_t cost_ns = monotonic_ns() - now_ns;
    next_ns_ = now_ns + std::max<std::uint64_t>(10 * ns_per_ms, 100 * cost_ns);
    if (maps)
        for (const Wanted& wanted : wanted_) tell(wanted, *maps);
    wanted_.clear();
}

// If it was not found it will not be later: an empty range says so. The thread may have ended meanwhile, and another
// may have its record: that one takes no notice of a stack that is not said to be its own.
void ThreadStacks::tell(const Wanted& wanted, const ProcMaps& maps) {
    Record& record = state_.records[wanted.record];
    const std::uint64_t block = record.control_block.load(std::memory_order_relaxed);
    const StackRange range = wanted.is_main ? stack_below(maps, 0)
                             : block != 0   ? stack_below(maps, block)
                                            : StackRange{};
    record.stack_high.store(range.high, std::memory_order_relaxed);
    record.stack_low.store(range.low, std::memory_order_relaxed);
    record.stack_of.store(wanted.claim, std::memory_order_release);
}

}  // namespace flameprobe::alloc
