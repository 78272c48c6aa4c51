#include "merge.hpp"

#include <numeric>

#include "base/hash.hpp"

namespace flameprobe {

namespace {

/// How much was alive at the end of each step of time, in all processes together.
void add_alive(NamedProfile& profile) {
    for (const TimedWeight& time : profile.times) {
        if (time.bin >= profile.alive.size()) profile.alive.resize(time.bin + 1);
        profile.alive[time.bin] += time.weight;  // modulo 2^64
    }
    std::partial_sum(profile.alive.begin(), profile.alive.end(), profile.alive.begin());
    profile.alive_stretch_ns = profile.bin_ns;
}

}  // namespace

ProfileMerger::ProfileMerger(std::optional<RunClock> clock) : clock_(clock) { result_.nodes.emplace_back(); }

std::vector<FrameId> ProfileMerger::add_frames(const NamedProfile& input) {
    std::vector<FunctionId> functions;
    for (const Function& function : input.functions) functions.push_back(functions_.add(function, input.strings));
    std::vector<FrameId> now(input.frames.size());
    for (FrameId id = 0; id < now.size(); ++id) {
        const NamedFrame frame{functions[input.frames[id].function], input.frames[id].line, NamedFrame::no_location};
        const auto next = static_cast<FrameId>(result_.frames.size());
        now[id] = frames_.find_or_add(hash_pair(frame.function, frame.line), next,
                                      [&](FrameId known) { return result_.frames[known] == frame; });
        if (now[id] == next) result_.frames.push_back(frame);
    }
    return now;
}

std::vector<NodeId> ProfileMerger::add_nodes(const NamedProfile& input) {
    const std::vector<FrameId> frames = add_frames(input);
    std::vector<NodeId> now(input.nodes.size());
    for (NodeId id = 1; id < now.size(); ++id) {
        const auto [parent, frame] = input.nodes[id];
        now[id] = nodes_.child(result_.nodes, now[parent], frames[frame]);
    }
    return now;
}

std::vector<ThreadId> ProfileMerger::add_threads(const NamedProfile& input) {
    std::vector<ThreadId> now;
    constexpr NodeId process = 1;
    std::string key;
    if (input.process_first) key = std::string(input.name(input.nodes[process].frame)) + '\n';
    for (const Thread& thread : input.threads) {
        const std::string apart = input.process_first ? std::to_string(thread.tid) + '\n' : "";
        const auto [known, is_new] =
            threads_.try_emplace(key + apart + thread.name, static_cast<ThreadId>(result_.threads.size()));
        if (is_new) result_.threads.push_back(thread);
        Thread& merged = result_.threads[known->second];
        if (merged.tid != thread.tid) merged.tid = 0;  // several: no number is right
        now.push_back(known->second);
    }
    return now;
}

// Folded text counts periods, recorded profiles of a clock nanoseconds.
std::uint64_t ProfileMerger::unit_of(const NamedProfile& input) {
    if (!input.has_run) return of_folded_ns_;
    if (!result_.has_run) {
        of_folded_ns_ = std::max<std::uint64_t>(input.run.period_ns, 1);
        for (NamedCount& count : result_.counts) count.weight = multiply_saturated(count.weight, of_folded_ns_);
    }
    return 1;
}

void ProfileMerger::add_counts(const NamedProfile& input) {
    const std::uint64_t unit = unit_of(input);
    const std::vector<NodeId> nodes = add_nodes(input);
    const std::vector<ThreadId> threads = add_threads(input);
    result_.process_first |= input.process_first;
    last_counts_.clear();
    for (const NamedCount& count : input.counts) {
        const ThreadId thread = count.thread < threads.size() ? threads[count.thread] : 0;
        const NodeId node = nodes[count.node];
        const auto next = static_cast<std::uint32_t>(result_.counts.size());
        const std::uint32_t known = counts_.find_or_add(hash_pair(node, thread), next, [&](std::uint32_t one) {
            return result_.counts[one].node == node && result_.counts[one].thread == thread;
        });
        if (known == next) result_.counts.push_back({.node = node, .thread = thread});
        last_counts_.push_back(known);
        NamedCount& sum = result_.counts[known];
        sum.age.add(sum.weight, count.age, count.weight);
        sum.weight = add_saturated(sum.weight, multiply_saturated(count.weight, unit));
        sum.hits = add_saturated(sum.hits, count.hits);
    }
    result_.has_ages = (inputs_ == 0 || result_.has_ages) && input.has_ages;
    if (clock_) add_times(input);
    merge_facts(result_, input, threads);
    result_.merged_runs += std::max<std::uint32_t>(input.merged_runs, 1);
}

void ProfileMerger::add_times(const NamedProfile& input) {
    all_have_times_ = all_have_times_ && (input.counts.empty() || input.bin_ns > 0);
    times_.widen(input.bin_ns);
    const std::uint64_t start = clock_->start_of(input.run);
    for (const TimedWeight& time : input.times) {
        const std::uint64_t middle = add_saturated(start, time.bin * input.bin_ns + input.bin_ns / 2);
        times_.add(last_counts_[time.count], middle, time.weight, time.hits);
    }
}

void ProfileMerger::add(const NamedProfile& input) {
    // Folded text has no threads; beside profiles that have some, its samples need one of their own.
    if (input.threads.empty() && !input.counts.empty() && !threads_.empty()) {
        NamedProfile no_thread;
        no_thread.threads.push_back({0, ""});
        add_threads(no_thread);
    }
    add_counts(input);
    ++inputs_;
}

NamedProfile ProfileMerger::take() {
    const auto& entries = times_.entries();
    if (all_have_times_ && !entries.empty()) {
        for (const TimeBins::Entry& entry : entries)
            result_.times.push_back({static_cast<std::uint32_t>(entry.key), entry.bin, entry.weight, entry.hits});
        result_.bin_ns = times_.bin_ns();
        if (counts_living(result_.run)) add_alive(result_);
    }
    return std::move(result_);
}

}  // namespace flameprobe
