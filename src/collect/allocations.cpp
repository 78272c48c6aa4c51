#include "collect/allocations.hpp"

#include <functional>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/hash.hpp"
#include "capture/alloc/state.hpp"
#include "collect/other_allocators.hpp"

namespace flameprobe {
namespace {

/// Up to where the process's allocations are in a profile. A forked child, which has another id, begins at 0.
struct CountedTo {
    std::int32_t pid = 0;
    alloc::Totals totals;
};
constinit CountedTo counted_to;

/// Stacks and threads of the profile before this one, for what goes on from there: allocations that are still alive.
class EarlierProfile {
public:
    /// Both must outlive it.
    EarlierProfile(Pipeline& now, const Pipeline& before) : now_(now), before_(before) {}

    /// Those numbers in the profile now.
    StackId stack(StackId before) {
        const auto [known, is_new] = stacks_.try_emplace(before, 0);
        if (is_new) known->second = now_.same_stack(before_, before);
        return known->second;
    }
    ThreadId thread(ThreadId before) {
        const auto [known, is_new] = threads_.try_emplace(before, 0);
        if (is_new) known->second = now_.threads().same_thread(before_.threads(), before);
        return known->second;
    }

private:
    Pipeline& now_;
    const Pipeline& before_;
    std::unordered_map<StackId, StackId> stacks_;
    std::unordered_map<ThreadId, ThreadId> threads_;
};

}  // namespace

AllocationWeight allocation_weight(std::uint64_t size, std::uint64_t mean) {
    if (size == 0) return {};
    const double chance = alloc::chance_of_sample(size, mean);
    return {static_cast<double>(size) / chance, 1 / chance};
}

std::vector<EventInfo> Allocations::events(const alloc::State& state) {
    std::vector<EventInfo> all = {{std::string(event_name::alloc), std::string(event_kind::bytes), 0, 0},
                                  {std::string(event_name::alloc_objects), std::string(event_kind::objects), 0, 0}};
    if (!state.tracks_frees) return all;
    for (const auto& [bytes, objects] : {std::pair(event_name::kept, event_name::kept_objects),
                                         std::pair(event_name::freed, event_name::freed_objects)}) {
        all.push_back({std::string(bytes), std::string(event_kind::bytes), 0, 0});
        all.push_back({std::string(objects), std::string(event_kind::objects), 0, 0});
    }
    return all;
}

Allocations::Allocations(Pipeline& pipeline, alloc::State& state, EventId first)
    : pipeline_(pipeline),
      state_(state),
      first_(first),
      cells_(state.samples),
      stacks_(state),
      lost_(std::size(state.lost)),
      untracked_before_(state.untracked.load(std::memory_order_relaxed)) {
    // The session has tried that the filters which are in force by now do not kill (sandbox/host_restrictions.hpp).
    if (!state_.attended.exchange(true, std::memory_order_relaxed) && !state_.samples.silent)
        state_.samples.may_call.store(true, std::memory_order_relaxed);
}

void Allocations::resume() {
    if (counted_to.pid != state_.samples.pid) counted_to = {state_.samples.pid, {}};
    if (!state_.on.exchange(true, std::memory_order_relaxed)) counted_to.totals = alloc::read_totals(state_);
    running_ = true;
}

void Allocations::take_over(Allocations& before) {
    EarlierProfile earlier(pipeline_, before.pipeline_);
    const std::uint64_t now = monotonic_ns(), start_ns = now - pipeline_.since_start(now);
    for (auto& [id, live] : before.live_) {
        live.bytes.thread = earlier.thread(live.bytes.thread);
        live.bytes.stack = earlier.stack(live.bytes.stack);
        Sample sample = live.bytes;
        sample.age_ns = start_ns - std::min(start_ns, sample.time_ns);
        sample.time_ns = start_ns;
        write(kept, sample, sample.weight);
        write(kept_number, sample, live.number);
    }
    live_.merge(before.live_);
    mappings_ = std::move(before.mappings_);
    any_ = any_ || !live_.empty();
}

void Allocations::pause() {
    if (!std::exchange(running_, false)) return;
    state_.on.store(false, std::memory_order_relaxed);
    count();
    if (const alloc::Table* const ours = alloc::table(); ours != nullptr)
        unseen_ = files_with_other_malloc(pipeline_.code_map(), ours->code_begin, ours->code_end);
}

void Allocations::count() {
    const alloc::Totals now = alloc::read_totals(state_);
    sum_.bytes += now.bytes - counted_to.totals.bytes;
    sum_.calls += now.calls - counted_to.totals.calls;
    counted_to.totals = now;
}

// What was freed is taken first: each such allocation's cell is full by then.
void Allocations::gather() {
    calls_.look(state_.samples, monotonic_ns());
    state_.live.take_freed(
        [this](const alloc::LiveTable::Freed& each) { (each.bytes == 0 ? freed_ : unmapped_).push_back(each); });
    std::ranges::stable_sort(unmapped_, std::greater(), &alloc::LiveTable::Freed::time_ns);
    gathered_ = cells_.gather();
}

void Allocations::drain() {
    const std::size_t samples = std::exchange(gathered_, 0);
    for (std::size_t i = 0; i < samples; ++i) {
        const handler::CellHead& cell = cells_.cell(i);
        stacks_.sampled(cell);
        take(cells_.sample(i), cell);
        cells_.give_back(i);
    }
    stacks_.find(monotonic_ns());
    take_unmappings(~std::uint64_t{0});
    for (const auto& each : std::exchange(freed_, {})) take_free(each.id, each.time_ns);
    take_lost();
    busy_ = samples > state_.samples.pool.count() / 16;
}

void Allocations::take(const RawSample& raw, const handler::CellHead& cell) {
    const AllocationWeight weight = allocation_weight(raw.weight, state_.mean);
    Sample sample;
    sample.time_ns = raw.time_ns;
    // Under the name that it has now: what is freed after a new one is taken off here.
    sample.thread = pipeline_.threads().shown(pipeline_.thread_of(raw.tid, true));
    sample.stack = pipeline_.stack_of(raw, alloc::table()->code_begin, alloc::table()->code_end);
    sample.weight = rounded(weight.bytes * cell.stands_for);
    const std::uint64_t number = rounded(weight.number * cell.stands_for);
    write(allocated, sample, sample.weight);
    write(allocations, sample, number);
    if (cell.allocation != 0) live_.emplace(cell.allocation, Live{sample, number});
    if (cell.allocation != 0 && cell.mapped_at != 0) {
        take_unmappings(raw.time_ns);
        const std::uint64_t bytes = live_[cell.allocation].mapped = alloc::whole_pages(raw.weight);
        take_gone(mappings_.mapped(cell.mapped_at, bytes, cell.allocation, raw.time_ns), raw.time_ns);
    }
    any_ = true;
    thinned_ = thinned_ || cell.stands_for > 1;
}

// Of an allocation while sampling was off nothing is known.
void Allocations::take_free(std::uint64_t id, std::uint64_t freed_ns) {
    const auto found = live_.find(id);
    if (found == live_.end()) return;
    Sample sample = found->second.bytes;
    sample.age_ns = std::max<std::uint64_t>(freed_ns, sample.time_ns + 1) - sample.time_ns;
    sample.time_ns = freed_ns;
    write(freed, sample, sample.weight);
    sample.age_ns = 0;  // said once
    write(frees, sample, found->second.number);
    live_.erase(found);
}

/// Those of before that time, the oldest first.
void Allocations::take_unmappings(std::uint64_t to_ns) {
    for (; !unmapped_.empty() && unmapped_.back().time_ns < to_ns; unmapped_.pop_back()) {
        const auto& [at, time_ns, bytes, moved_to] = unmapped_.back();
        take_gone(moved_to == 0 ? mappings_.unmapped(at, alloc::whole_pages(bytes), time_ns)
                                : mappings_.moved(at, alloc::whole_pages(bytes), moved_to, time_ns),
                  time_ns);
    }
}

// A part takes its share of the sample's bytes with it, the last one the sample itself.
void Allocations::take_gone(const std::vector<MappedMemory::Part>& gone, std::uint64_t time_ns) {
    for (const auto& [id, bytes] : gone) {
        const auto found = live_.find(id);
        if (found == live_.end()) continue;
        Live& live = found->second;
        if (bytes >= live.mapped) {
            take_free(id, time_ns);
            continue;
        }
        Sample sample = live.bytes;
        sample.age_ns = std::max(time_ns, sample.time_ns + 1) - sample.time_ns;
        sample.time_ns = time_ns;
        sample.hits = 0;
        const double share = static_cast<double>(bytes) / static_cast<double>(live.mapped);
        const auto weight = static_cast<std::uint64_t>(static_cast<double>(live.bytes.weight) * share);
        write(freed, sample, weight);
        live.bytes.weight -= weight;
        live.mapped -= bytes;
    }
}

// When their memory is freed is not known, so they are not in the heap.
void Allocations::take_lost() {
    for (std::size_t i = 0; i < lost_.size(); ++i) {
        const std::uint64_t number = state_.lost[i].number.load(std::memory_order_relaxed) - lost_[i].calls;
        if (number == 0) continue;
        const std::uint64_t bytes = state_.lost[i].bytes.load(std::memory_order_relaxed) - lost_[i].bytes;
        lost_[i].calls += number;
        lost_[i].bytes += bytes;
        const AllocationWeight one = allocation_weight(bytes / number, state_.mean);
        Sample sample{monotonic_ns(), pipeline_.threads().unknown(), pipeline_.stacks().of_note(Note::lost), 0, 0};
        const std::uint64_t all_bytes = rounded(one.bytes * static_cast<double>(number)),
                            all = rounded(one.number * static_cast<double>(number));
        write(allocated, sample, all_bytes);
        write(allocations, sample, all);
        if (!state_.tracks_frees) continue;
        write(freed, sample, all_bytes);
        write(frees, sample, all);
    }
}

void Allocations::write(Kind kind, Sample sample, std::uint64_t weight) {
    sample.weight = weight;
    pipeline_.event_sample(first_ + kind, sample);
}

/// Up or down by chance, so that sums are right.
std::uint64_t Allocations::rounded(double number) {
    const double chance = static_cast<double>(splitmix64(++random_) >> 11) * 0x1p-53;
    return static_cast<std::uint64_t>(number + chance);
}

void Allocations::add_to(Counters& counters) {
    if (running_) count();
    counters[std::string(counter::allocated_bytes)] = sum_.bytes;
    counters[std::string(counter::allocations)] = sum_.calls;
    counters[std::string(counter::allocation_mean)] = state_.mean;
    if (!unseen_.empty())
        counters
            [std::string(counter::note) + "what " + unseen_.front() +
             (unseen_.size() == 1 ? "" : " and " + std::to_string(unseen_.size() - 1) + " more files") +
             " allocated is not counted, nor what it freed: it calls another malloc than the program (RTLD_DEEPBIND, "
             "dlmopen, or a C library of its own)"] = 1;
    if (thinned_)
        counters[std::string(counter::note) +
                 "samples of allocations came faster than the collector could take them: some stand for several, and "
                 "bytes are less exact"] = 1;
    if (const auto untracked = state_.untracked.load(std::memory_order_relaxed) - untracked_before_; untracked != 0)
        counters[std::string(counter::note) +
                 "more sampled allocations were alive than can be followed: some count as alive that were freed"] = 1;
}

std::size_t Allocations::memory() const {
    constexpr std::size_t node = sizeof(Live) + 32;
    return live_.size() * node + state_.samples.pool.count() / 16 * (state_.samples.stack_bytes + 256);
}

}  // namespace flameprobe
