#include "bench_sides.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <utility>

#include "../bench/profiles.hpp"
#include "profile/names.hpp"

namespace flameprobe::compare {

namespace {

/// CPU time by the clocks that no sample covers, as the bench calls it.
constexpr std::string_view unsampled = "[not sampled]";

bool has_stacks(const MeasuredPoint& point) {
    return std::ranges::all_of(point.runs, [](const MeasuredRun& run) {
        std::error_code error;
        return !run.profiles.empty() && std::ranges::all_of(run.profiles, [&](const std::string& path) {
            return std::filesystem::exists(path, error);
        });
    });
}

/// What a report says of a run: a stack for each function, in which nothing calls it.
NamedProfile without_stacks(const MeasuredPoint& point, std::size_t at, const std::string& event) {
    const MeasuredRun& run = point.runs[at];
    const bool is_time = event == event_name::cpu;
    NamedProfile profile;
    profile.has_run = true;
    profile.run.event = is_time ? "cpu-clock" : event;
    profile.run.period_ns = is_time ? 1 : 0;
    profile.nodes.emplace_back();
    double all = 0, sampled = 0;
    for (const auto& [name, values] : point.costs.at(event)) {
        all += values[at];
        if (name != unsampled) sampled += values[at];
    }
    const double samples = is_time ? static_cast<double>(run.samples) : point.allocation_samples;
    for (const auto& [name, values] : point.costs.at(event)) {
        if (values[at] <= 0) continue;
        const auto id = static_cast<FunctionId>(profile.functions.size());
        profile.functions.push_back({profile.strings.intern(name), 0, 0, 0, FrameKind::user});
        profile.frames.push_back({id, 0, NamedFrame::no_location});
        profile.nodes.push_back({0, id});
        NamedCount count{.node = static_cast<NodeId>(profile.nodes.size() - 1)};
        count.weight = static_cast<std::uint64_t>(std::llround(values[at] * run.units));
        if (name != unsampled)
            count.hits = static_cast<std::uint64_t>(std::llround(samples * values[at] / std::max(sampled, 1e-9)));
        profile.counts.push_back(count);
    }
    return profile;
}

Result<DiffSide> side_of(const MeasuredPoint& point, const std::string& event, bool stacks) {
    std::vector<NamedProfile> runs;
    for (std::size_t at = 0; at < point.runs.size(); ++at) {
        const MeasuredRun& run = point.runs[at];
        if (!stacks) {
            runs.push_back(without_stacks(point, at, event));
            continue;
        }
        const std::string wanted = event == event_name::cpu ? "" : event;
        auto profile = bench::profile_of_run(run.profiles, {run.from_unix_ns, run.to_unix_ns}, wanted);
        if (!profile) return profile.error();
        runs.push_back(std::move(*profile));
    }
    DiffSide side = diff_side(std::move(runs));
    for (std::size_t at = 0; at < point.runs.size(); ++at) {
        side.durations[at] = point.runs[at].seconds;
        side.work[at] = {{point.unit, point.runs[at].units}};
    }
    return side;
}

Result<ProfileDiff> compare_event(const MeasuredPoint& before, const MeasuredPoint& after, const std::string& event,
                                  const std::string& per) {
    const bool stacks = has_stacks(before) && has_stacks(after);
    auto one = side_of(before, event, stacks), other = side_of(after, event, stacks);
    if (!one) return one.error();
    if (!other) return other.error();
    return diff_sides(std::move(*one), std::move(*other),
                      per.empty() ? before.counts_work ? before.unit : "second" : per);
}

const MeasuredPoint* find(const Measurement& side, const std::string& title) {
    const auto found =
        std::ranges::find_if(side.points, [&](const MeasuredPoint& point) { return point.title() == title; });
    return found == side.points.end() ? nullptr : &*found;
}

/// Why two points cannot be compared; empty if they can.
std::string refused(const MeasuredPoint& before, const MeasuredPoint& after) {
    if (before.unit != after.unit) return "counts " + before.unit + " before and " + after.unit + " after";
    if (before.runs.size() < 2 || after.runs.size() < 2)
        return std::to_string(before.runs.size()) + " and " + std::to_string(after.runs.size()) +
               " good runs; noise is known from two on";
    return {};
}

}  // namespace

Result<std::vector<Compared>> compare_benches(const Measurement& before, const Measurement& after,
                                              const BenchRequest& request, std::vector<std::string>& remarks) {
    std::vector<Compared> all;
    for (const MeasuredPoint& old : before.points) {
        const std::string title = old.title();
        const MeasuredPoint* const now = find(after, title);
        const std::string why = now == nullptr ? "only in " + before.path : refused(old, *now);
        if (!why.empty()) {
            remarks.push_back(title + ": " + why);
            continue;
        }
        for (const auto& [event, costs] : old.costs) {
            if (!request.event.empty() && event != request.event) continue;
            const std::string its = event == event_name::cpu ? title : title + ", " + event;
            if (!now->costs.contains(event)) {
                remarks.push_back(its + ": known of one side only");
                continue;
            }
            auto diff = compare_event(old, *now, event, request.per);
            if (diff)
                all.push_back({its, std::move(*diff), request.names});
            else
                remarks.push_back(its + ": " + diff.error().message);
        }
    }
    for (const MeasuredPoint& now : after.points)
        if (find(before, now.title()) == nullptr) remarks.push_back(now.title() + ": only in " + after.path);
    if (!all.empty()) return all;
    std::string why;
    for (const std::string& remark : remarks) why += "; " + remark;
    return Error{before.path + " and " + after.path + ": nothing in them can be compared" + why};
}

}  // namespace flameprobe::compare
