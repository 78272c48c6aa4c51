// Whose request a sample was taken in: that of the passing of its thread at its time.
#include <algorithm>
#include <unordered_map>

#include "symbolize/raw_profile.hpp"

namespace flameprobe {
namespace {

/// The passings of each thread, by tid, in the order of their begins. Those of one label lie in each other or apart.
class PassingsByThread {
public:
    void add(std::uint32_t tid, const Passing& passing) { threads_[tid].push_back(passing); }
    void sort() {
        for (auto& [tid, passings] : threads_) std::ranges::sort(passings, {}, &Passing::begin_ns);
    }
    /// The innermost one at this time, or null.
    const Passing* find(std::uint32_t tid, std::uint64_t time_ns) const {
        constexpr int deepest = 64;  // a request in requests of its own label
        const auto thread = threads_.find(tid);
        if (thread == threads_.end()) return nullptr;
        auto at = std::ranges::upper_bound(thread->second, time_ns, {}, &Passing::begin_ns);
        for (int steps = 0; at != thread->second.begin() && steps < deepest; ++steps)
            if (--at; time_ns - at->begin_ns <= at->ns) return &*at;
        return nullptr;
    }

private:
    std::unordered_map<std::uint32_t, std::vector<Passing>> threads_;
};

}  // namespace

void RawProfile::keep(const RequestTimes& record) {
    const RequestChoice& wanted = filter_.requests;
    if (wanted.label.empty()) {
        if (in_window(record.time_ns, filter_.late_counts_ns)) requests[record.label].add(record);
        return;
    }
    if (record.label != wanted.label || record.coarse || !in_window(record.time_ns, filter_.late_counts_ns)) return;
    Durations all;
    all.add(record);
    Durations& kept = requests[record.label];
    std::uint64_t& count = work[record.label];
    for (const auto& [cell, number] : all.cells) {
        if (wanted.has(cell) == filter_.others) continue;
        kept.cells[cell] = add_saturated(kept.cells[cell], number);
        count = add_saturated(count, number);
    }
    kept.longest_ns = std::max(kept.longest_ns, record.longest_ns);
    kept.unseen = add_saturated(kept.unseen, record.unseen);
}

void RawProfile::keep(const Passing& passing) {
    const RequestChoice& wanted = filter_.requests;
    const bool is_it = passing.label < strings.size() && strings[passing.label] == wanted.label;
    if (!wanted.label.empty() && is_it && passing.thread < threads.size()) passings_.push_back(passing);
}

// When a thread was preempted is known of stretches of time together, and so is the time of waits without a place: both
// are in no request.
void RawProfile::choose_requests() {
    if (filter_.requests.label.empty()) return;
    PassingsByThread passings;
    for (const Passing& passing : passings_) passings.add(threads[passing.thread].tid, passing);
    passings.sort();
    for (const TimedSample& sample : in_requests_) {
        const auto stack = static_cast<StackId>(sample.key);
        const Mapping* const leaf = stack == 0 ? nullptr : &mappings[locations[stacks[stack].location].mapping];
        if (leaf == nullptr || (leaf->kind == MappingKind::note && leaf->path == "[preempted]")) continue;
        const Passing* const found =
            passings.find(threads[static_cast<ThreadId>(sample.key >> 32)].tid, sample.time_ns);
        if (found != nullptr && filter_.requests.has(duration_cell(found->ns)) != filter_.others) keep_timed(sample);
    }
    in_requests_.clear();
    passings_.clear();
}

}  // namespace flameprobe
