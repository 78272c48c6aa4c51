#include <algorithm>
#include <functional>
#include <utility>

#include "compare/correspondence.hpp"
#include "diff.hpp"
#include "merge.hpp"

namespace flameprobe {

namespace {

constexpr std::uint32_t most_clusters = 64;

/// A run in up to two dozen stretches of time: fewer leave the spread in doubt, longer ones hold what changes slowly.
void cut_by_time(DiffSide& side) {
    constexpr std::uint32_t most = 24, least = 4;
    NamedProfile& profile = side.profile;
    if (profile.bin_ns == 0 || profile.times.empty() || counts_living(profile.run)) return;
    std::uint32_t first = profile.times.front().bin, last = 0;
    for (const TimedWeight& time : profile.times) first = std::min(first, time.bin), last = std::max(last, time.bin);
    const std::uint32_t bins = last - first + 1;
    side.clusters = std::min(bins, most);
    if (side.clusters < least) {
        side.clusters = 0;
        return;
    }
    for (const TimedWeight& time : profile.times) {
        const auto cluster = static_cast<std::uint32_t>(std::uint64_t{time.bin - first} * side.clusters / bins);
        if (!side.pieces.empty() && side.pieces.back().count == time.count && side.pieces.back().cluster == cluster)
            side.pieces.back().weight += static_cast<double>(time.weight);
        else
            side.pieces.push_back({time.count, cluster, static_cast<double>(time.weight)});
    }
}

/// A run by its heaviest threads; all others are one.
void add_threads(DiffSide& side) {
    constexpr std::uint32_t most = 16;
    const NamedProfile& profile = side.profile;
    if (side.clusters == 0 || profile.threads.size() < 2) return;
    std::vector<std::pair<std::uint64_t, ThreadId>> heaviest(profile.threads.size());
    for (ThreadId id = 0; id < heaviest.size(); ++id) heaviest[id].second = id;
    for (const NamedCount& count : profile.counts)
        if (count.thread < heaviest.size()) heaviest[count.thread].first += count.weight;
    std::ranges::sort(heaviest, std::ranges::greater());
    side.threads = std::min(most, static_cast<std::uint32_t>(heaviest.size()));
    std::vector<std::uint32_t> rank(heaviest.size());
    for (std::uint32_t at = 0; at < heaviest.size(); ++at) rank[heaviest[at].second] = std::min(at, side.threads - 1);
    for (std::uint32_t at = 0; at < profile.counts.size(); ++at) {
        const NamedCount& count = profile.counts[at];
        const std::uint32_t thread = count.thread < rank.size() ? rank[count.thread] : side.threads - 1;
        side.pieces.push_back({at, side.clusters + thread, static_cast<double>(count.weight)});
    }
}

void forget_times(NamedProfile& profile) {
    profile.times.clear();
    profile.bin_ns = 0;
    profile.alive.clear();
}

}  // namespace

DiffSide diff_side(std::vector<NamedProfile> runs) {
    DiffSide side;
    side.runs = static_cast<std::uint32_t>(runs.size());
    const bool processes = std::ranges::any_of(runs, &NamedProfile::process_first);
    for (NamedProfile& run : runs) {
        side.durations.push_back(static_cast<double>(run.summary.duration_ns) / 1e9);
        side.work.emplace_back(run.work.begin(), run.work.end());
        if (processes && !run.process_first && run.has_run) put_program_first(run);
    }
    if (runs.size() == 1) {
        side.profile = std::move(runs.front());
        cut_by_time(side);
        add_threads(side);
        forget_times(side.profile);
        return side;
    }
    side.clusters = std::min(side.runs, most_clusters);
    ProfileMerger merger;
    std::vector<std::uint64_t> known;
    for (std::size_t at = 0; at < runs.size(); ++at) {
        forget_times(runs[at]);
        merger.add(runs[at]);
        const auto cluster = static_cast<std::uint32_t>(at * side.clusters / runs.size());
        known.resize(merger.counts().size());
        for (std::uint32_t count = 0; count < known.size(); ++count) {
            const std::uint64_t more = merger.counts()[count].weight - known[count];
            if (more != 0) side.pieces.push_back({count, cluster, static_cast<double>(more)});
            known[count] += more;
        }
    }
    side.profile = merger.take();
    return side;
}

}  // namespace flameprobe
