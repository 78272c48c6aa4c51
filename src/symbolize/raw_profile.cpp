#include "symbolize/raw_profile.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace flameprobe {

void TimeBins::add(std::uint64_t key, std::uint64_t time_ns, std::uint64_t weight, std::uint64_t hits) {
    while (time_ns / bin_ns_ >= most_bins()) halve();
    const std::uint64_t bin = time_ns / bin_ns_;
    bins_ = std::max(bins_, bin + 1);
    entries_.push_back({key, static_cast<std::uint32_t>(bin), weight, hits});
    if (entries_.size() >= 2 * most()) shorten();
}

void TimeBins::shorten() {
    merge();
    while (entries_.size() > most() && bin_ns_ < longest_bin) halve();
}

void TimeBins::widen(std::uint64_t bin_ns) {
    while (bin_ns_ < bin_ns && bin_ns_ < longest_bin) halve();
}

const std::vector<TimeBins::Entry>& TimeBins::entries() {
    shorten();
    return entries_;
}

void TimeBins::halve() {
    bin_ns_ *= 2;
    bins_ = (bins_ + 1) / 2;
    for (Entry& entry : entries_) entry.bin /= 2;
    merged_ = 0;
    if (entries_.size() > most()) merge();
}

void TimeBins::merge() {
    if (merged_ == entries_.size()) return;
    std::ranges::sort(entries_, {}, [](const Entry& one) { return std::tie(one.key, one.bin); });
    const auto add = [this](std::uint64_t& sum, std::uint64_t more) {
        sum = differences_ ? sum + more : add_saturated(sum, more);
    };
    std::size_t kept = 0;
    for (const Entry& entry : entries_) {
        Entry* last = kept > 0 ? &entries_[kept - 1] : nullptr;
        if (last != nullptr && last->key == entry.key && last->bin == entry.bin) {
            add(last->weight, entry.weight);
            add(last->hits, entry.hits);
        } else {
            entries_[kept++] = entry;
        }
    }
    entries_.resize(kept);
    merged_ = kept;
}

void RawProfile::run(const RunInfo& info) {
    run_info = info;
    events.set_run(info);
}
void RawProfile::event(EventId id, const EventInfo& info) { events.add(id, info); }
void RawProfile::event_sample(EventId event, const Sample& sample) {
    if (events.is_heap()) return keep_heap(event, sample);
    keep(sample, event);
}

// What is alive in a window of time may have been allocated before it.
void RawProfile::keep_heap(EventId event, const Sample& sample) {
    last_sample_ns = std::max(last_sample_ns, sample.time_ns);
    const EventChoice::HeapPart part = events.heap_part(event);
    if (!part.bytes && !part.weight) return;
    const std::uint64_t key = std::uint64_t{sample.thread} << 32 | sample.stack;
    times.hold_differences();
    if (part.weight && filter_.times && !filter_.from_ns && !filter_.to_ns)
        times.add(key, sample.time_ns, part.freed ? 0 - sample.weight : sample.weight,
                  part.freed ? 0 - sample.hits : sample.hits);
    heap_.change(part.freed ? LiveHeap::Change::shrank : LiveHeap::Change::grew, sample.time_ns, key,
                 part.bytes ? sample.weight : 0, part.weight ? sample.weight : 0, part.weight ? sample.hits : 0,
                 sample.age_ns);
}
void RawProfile::string(std::uint32_t /*id*/, const std::string& text) { strings.push_back(text); }
void RawProfile::mapping(MappingId /*id*/, const Mapping& mapping) {
    has_jit_dump_ = has_jit_dump_ || (mapping.kind == MappingKind::file && is_jit_dump(mapping.path));
    mappings.push_back(mapping);
}
void RawProfile::location(LocationId /*id*/, const Location& location) { locations.push_back(location); }
void RawProfile::stack(StackId /*id*/, const StackNode& node) {
    stacks.push_back(node);
    const Mapping& mapping = mappings[locations[node.location].mapping];
    const bool anonymous = mapping.kind == MappingKind::anonymous;
    const bool holder = mapping.kind == MappingKind::note && is_holder_note(mapping.path);
    holders_.push_back(holder || holders_[node.parent]);
    in_run_time_code_.push_back(anonymous || in_run_time_code_[node.parent]);
}
void RawProfile::summary(const Summary& summary) { last_summary = summary; }
void RawProfile::symbols(LocationId id, const std::vector<ArchivedSymbol>& symbols) { archived[id] = symbols; }

bool RawProfile::in_window(std::uint64_t time_ns, std::uint64_t late_ns) const {
    if (!filter_.from_ns && !filter_.to_ns) return true;
    const bool inside = (!filter_.from_ns || time_ns >= *filter_.from_ns) &&
                        (!filter_.to_ns || time_ns < add_saturated(*filter_.to_ns, late_ns));
    return inside != filter_.others;
}

void RawProfile::keep(const WorkCount& count) {
    if (!in_window(count.time_ns, filter_.late_counts_ns)) return;
    if (!filter_.requests.label.empty()) return;  // units of other work
    std::uint64_t& sum = work[count.name];
    sum = add_saturated(sum, count.amount);
}

void RawProfile::thread(ThreadId id, const Thread& thread) {
    if (id == threads.size()) threads.emplace_back();
    threads[id] = thread;
}

void RawProfile::sample(const Sample& sample) { keep(sample, 0); }

void RawProfile::keep(const Sample& sample, EventId event) {
    last_sample_ns = std::max(last_sample_ns, sample.time_ns);
    if (!in_window(sample.time_ns, 0)) return;
    if (sample.weight == 0 || !events.reads(event)) return;
    const TimedSample timed = {std::uint64_t{sample.thread} << 32 | sample.stack, sample.time_ns, sample.weight,
                               sample.hits};
    filter_.requests.label.empty() ? keep_timed(timed) : in_requests_.push_back(timed);
}

void RawProfile::keep_timed(const TimedSample& sample) {
    constexpr std::size_t most_apart = 4'000'000;  // 128 MB; what comes after them is named by what lay there last
    if (by_time_ && has_jit_dump_ && in_run_time_code_[static_cast<StackId>(sample.key)] && apart.size() < most_apart)
        apart.push_back(sample);
    else
        add(sample.key, sample.time_ns, sample.weight, sample.hits);
}

void RawProfile::add(std::uint64_t key, std::uint64_t time_ns, std::uint64_t weight, std::uint64_t hits) {
    if (filter_.times) times.add(key, time_ns, weight, hits);
    sums_[key].add({weight, hits});
}

std::vector<bool> RawProfile::stacks_in_scope() const {
    std::vector<bool> inside(stacks.size(), filter_.scope.empty());
    if (filter_.scope.empty()) return inside;
    for (std::size_t id = 1; id < stacks.size(); ++id) {
        const Location& location = locations[stacks[id].location];
        inside[id] = inside[stacks[id].parent] || (mappings[location.mapping].kind == MappingKind::scope &&
                                                   strings[location.address] == filter_.scope);
    }
    if (filter_.others) inside.flip();
    return inside;
}

// Only known at the end, since a thread's last name counts.
bool RawProfile::thread_wanted(const Thread& thread) const {
    if (filter_.thread.empty()) return true;
    const bool is_it = thread.name == filter_.thread || std::to_string(thread.tid) == filter_.thread;
    return is_it != filter_.others;
}

std::vector<RawCount> RawProfile::all_counts() const {
    std::vector<RawCount> all;
    const auto put = [&](std::uint64_t key, std::uint64_t weight, std::uint64_t hits, Age age) {
        all.push_back({static_cast<ThreadId>(key >> 32), static_cast<StackId>(key), weight, hits, age});
    };
    const std::uint64_t end = filter_.to_ns.value_or(std::max(last_sample_ns, last_summary.duration_ns));
    const auto age = [end](std::int64_t since) {
        return since < 0 ? add_saturated(end, 0 - static_cast<std::uint64_t>(since))
                         : end - std::min(static_cast<std::uint64_t>(since), end);
    };
    if (events.is_heap()) {
        const auto alive =
            events.is_peak() ? heap_.at_peak(filter_.from_ns, filter_.to_ns) : heap_.at_end(filter_.to_ns);
        for (const auto& [key, live] : alive)
            put(key, live.weight, live.hits, {age(live.allocated_ns), age(live.first_allocated_ns)});
        std::uint64_t last = ~std::uint64_t{0};
        for (const TimeBins::Entry& entry : times.entries())  // what was alive at another time
            if (entry.key != std::exchange(last, entry.key) && !alive.contains(entry.key)) put(entry.key, 0, 0, {});
    } else {
        for (const auto& [key, sum] : sums_) put(key, sum.weight, sum.hits, {});
    }
    return all;
}

std::vector<std::uint64_t> RawProfile::alive_over_time(std::uint64_t& stretch_ns) const {
    constexpr std::uint64_t most = 1000;
    const bool whole = filter_.scope.empty() && filter_.thread.empty() && !filter_.from_ns && !filter_.to_ns;
    if (!events.is_heap() || !filter_.times || !whole) return {};
    const std::uint64_t end = std::max(last_sample_ns, last_summary.duration_ns);
    stretch_ns = end / most + 1;
    return heap_.over_time(end, stretch_ns);
}

std::vector<RawCount> RawProfile::counts() const {
    if (filter_.pid && run_info && (run_info->pid != *filter_.pid) != filter_.others) return {};
    const std::vector<bool> in_scope = stacks_in_scope();
    std::vector<RawCount> kept = all_counts();
    std::erase_if(
        kept, [&](const RawCount& count) { return !in_scope[count.stack] || !thread_wanted(threads[count.thread]); });
    std::ranges::sort(kept, {}, [](const RawCount& one) { return std::tie(one.thread, one.stack); });
    return kept;
}

std::vector<bool> locations_of(const RawProfile& raw, const std::vector<RawCount>& counts) {
    std::vector<bool> used(raw.stacks.size());
    for (const RawCount& count : counts) used[count.stack] = true;
    std::vector<bool> needed(raw.locations.size());
    for (std::size_t id = raw.stacks.size() - 1; id > 0; --id) {  // a parent's id is smaller
        if (!used[id]) continue;
        used[raw.stacks[id].parent] = true;
        needed[raw.stacks[id].location] = true;
    }
    return needed;
}

void count_event(const RawProfile& raw, const std::vector<RawCount>& counts, Summary& summary) {
    std::vector<bool> truncated(raw.stacks.size()), lost(raw.stacks.size());
    for (std::size_t id = 1; id < raw.stacks.size(); ++id) {
        const Location& location = raw.locations[raw.stacks[id].location];
        const bool note = raw.mappings[location.mapping].kind == MappingKind::note;
        const auto is = [&](Note which) { return note && location.address == static_cast<std::uint64_t>(which); };
        truncated[id] = truncated[raw.stacks[id].parent] || is(Note::truncated) ||
                        (note && raw.mappings[location.mapping].path == read_later_note);
        lost[id] = is(Note::lost);
    }
    summary.samples = summary.truncated = summary.rooted = summary.lost = summary.throttled = summary.hits = 0;
    summary.truncated_hits = 0;
    for (const RawCount& count : counts) {
        if (lost[count.stack]) {
            summary.lost = add_saturated(summary.lost, count.weight);
            continue;
        }
        summary.samples = add_saturated(summary.samples, count.weight);
        summary.hits = add_saturated(summary.hits, count.hits);
        std::uint64_t& part = truncated[count.stack] ? summary.truncated : summary.rooted;
        part = add_saturated(part, count.weight);
        if (truncated[count.stack]) summary.truncated_hits = add_saturated(summary.truncated_hits, count.hits);
    }
}

}  // namespace flameprobe
