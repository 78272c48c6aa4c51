#include "diff_machine.hpp"

#include <algorithm>
#include <cmath>

#include "diff_measure.hpp"
#include "render/kernel_work.hpp"

namespace flameprobe {

std::optional<TimeOfRun> time_of_run(const ProfileDiff& diff) {
    if (!diff.is_time[0] || !diff.is_time[1] || diff.by_amount || diff.of_one_run) return std::nullopt;
    TimeOfRun time;
    double variance = 0;
    for (const std::size_t side : {0, 1}) {
        const auto weight = static_cast<double>(side == 0 ? diff.weight_before : diff.weight_after);
        (side == 0 ? time.before : time.after) = weight / diff.runs[side];
        const std::vector<double>& runs = diff.wholes[side];
        double its = between_runs * between_runs;
        if (diff.runs[side] > 1 && runs.size() > 1) {
            const auto count = static_cast<double>(runs.size());
            const double mean = weight / count;
            its = 0;
            for (const double one : runs) its += std::pow(one / mean - 1, 2);
            its /= count * (count - 1);
        }
        variance += std::max(its, 1e-4);
    }
    time.change = std::log(time.after / time.before);
    time.deviation = std::sqrt(variance);
    return time;
}

std::optional<WorkRate> work_rate(const ProfileDiff& diff) {
    // Clocks and counts are exact beside how runs differ.
    constexpr double exact = 1e-6, whole = 1e12;
    std::array<Clusters, 2> clusters;
    std::array<double, 2> of_unit{};
    for (const std::size_t side : {0, 1}) {
        const std::vector<double>&seconds = diff.seconds[side], &units = diff.counted[side];
        const double all = sum_of(seconds), counted = sum_of(units);
        if (units.size() < 2 || seconds.size() != units.size() || all <= 0 || counted <= 0) return std::nullopt;
        clusters[side] = {.part = seconds.data(), .whole = units.data(), .count = units.size()};
        clusters[side].variance = all * exact * all * exact;
        of_unit[side] = all / counted;
    }
    const double wider = widening(spread_of(clusters[0], clusters[1]), 0), longer = std::max(of_unit[0], of_unit[1]);
    const auto share = [&](double time) {
        const double part = whole * time / longer;
        Share its{static_cast<std::uint64_t>(std::llround(part)), static_cast<std::uint64_t>(whole)};
        its.variance = part * exact * part * exact;
        return its;
    };
    return WorkRate{1 / of_unit[0], 1 / of_unit[1], Change(share(of_unit[0]), share(of_unit[1]), true, wider)};
}

std::vector<bool> below_interrupts(const NamedProfile& profile) {
    std::vector<bool> is_interrupt(profile.functions.size());
    for (FunctionId id = 0; id < is_interrupt.size(); ++id)
        is_interrupt[id] = profile.functions[id].kind == FrameKind::kernel &&
                           kernel_work(profile.strings.view(profile.functions[id].name)) == "interrupts";
    std::vector<bool> below(profile.nodes.size());  // a parent comes before its children
    for (NodeId node = 1; node < below.size(); ++node)
        below[node] = below[profile.nodes[node].parent] ||
                      (profile.nodes[node].frame < profile.frames.size() && is_interrupt[profile.function_of(node)]);
    return below;
}

}  // namespace flameprobe
