#include "diff.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "export/totals.hpp"
#include "merge.hpp"

namespace flameprobe {

namespace {

constexpr double z_of_999_in_1000 = 3.29;

void keep_names_only(NamedProfile& profile) {
    for (Function& function : profile.functions) {
        // The next build may inline otherwise, and folded text does not tell threads and notes from functions.
        const bool kernel = function.kind == FrameKind::kernel;
        function = {function.name, 0, 0, 0, kernel ? FrameKind::kernel : FrameKind::user};
    }
    for (NamedFrame& frame : profile.frames) frame.line = 0;
    std::erase_if(profile.counts, [](const NamedCount& count) { return count.weight == 0; });
    // A thread's number means nothing beside another run's; its name is the first frame.
    profile.threads.clear();
    profile.summary.threads.clear();
    for (NamedCount& count : profile.counts) count.thread = 0;
}

/// Large enough that rounding is nothing, small enough that sums stay in 64 bits.
std::uint64_t multiplier(std::uint64_t samples) {
    constexpr std::uint64_t whole = 1'000'000'000'000'000;
    return std::max<std::uint64_t>(1, whole / samples);
}

}  // namespace

double Change::noise() const {
    const double n = static_cast<double>(before_.of), m = static_cast<double>(after_.of);
    if (n == 0 || m == 0) return 1;
    const double common = (static_cast<double>(before_.count) + static_cast<double>(after_.count)) / (n + m);
    return z_of_999_in_1000 * std::sqrt(common * (1 - common) * (1 / n + 1 / m));
}

bool Change::is_noise() const { return std::abs(difference()) <= noise(); }

Result<ProfileDiff> diff_profiles(NamedProfile before, NamedProfile after) {
    ProfileDiff diff;
    diff.samples_before = total_weight(before);
    diff.samples_after = total_weight(after);
    if (diff.samples_before == 0 || diff.samples_after == 0) {
        return Error{std::string("there are no samples ") + (diff.samples_before == 0 ? "before" : "after") +
                     ": nothing can be compared"};
    }
    keep_names_only(before);
    keep_names_only(after);
    ProfileMerger merger;
    merger.add(before);
    for (const NamedCount& count : merger.counts()) diff.before.push_back(count.weight);
    merger.add(after);
    diff.before.resize(merger.counts().size());
    for (std::size_t i = 0; i < diff.before.size(); ++i) {
        diff.after.push_back(merger.counts()[i].weight - diff.before[i]);
    }
    diff.profile = merger.take();
    const std::uint64_t times_before = multiplier(diff.samples_before), times_after = multiplier(diff.samples_after);
    for (std::size_t i = 0; i < diff.before.size(); ++i) {
        diff.profile.counts[i].weight = diff.before[i] * times_before + diff.after[i] * times_after;
    }
    return diff;
}

std::vector<FunctionChange> function_changes(ProfileDiff& diff) {
    std::map<FunctionId, std::pair<FunctionTotal, FunctionTotal>> both;
    const auto count_by = [&diff](const std::vector<std::uint64_t>& weights) {
        for (std::size_t i = 0; i < weights.size(); ++i) diff.profile.counts[i].weight = weights[i];
        return function_totals(diff.profile).functions;
    };
    std::vector<std::uint64_t> widths;
    for (const NamedCount& count : diff.profile.counts) widths.push_back(count.weight);
    for (const FunctionTotal& total : count_by(diff.before)) both[total.function].first = total;
    for (const FunctionTotal& total : count_by(diff.after)) both[total.function].second = total;
    for (std::size_t i = 0; i < widths.size(); ++i) diff.profile.counts[i].weight = widths[i];

    std::vector<FunctionChange> changes;
    for (const auto& [function, totals] : both) {
        const auto change = [&diff](std::uint64_t before, std::uint64_t after) {
            return Change({before, diff.samples_before}, {after, diff.samples_after});
        };
        changes.push_back(
            {function, change(totals.first.self, totals.second.self), change(totals.first.total, totals.second.total)});
    }
    return changes;
}

}  // namespace flameprobe
