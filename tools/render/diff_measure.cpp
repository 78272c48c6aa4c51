#include "diff_measure.hpp"

#include <cmath>

namespace flameprobe {

namespace {

/// The unit of work that both count, if there is one.
std::string common_work(const NamedProfile& before, const NamedProfile& after) {
    for (const auto& [name, amount] : before.work)
        if (const auto found = after.work.find(name); amount > 0 && found != after.work.end() && found->second > 0)
            return name;
    return {};
}

}  // namespace

std::vector<double> units_of(const DiffSide& side, const std::string& measure) {
    if (measure == "run") return std::vector<double>(side.durations.size(), 1);
    if (measure == "second") return side.durations;
    std::vector<double> units;
    for (const auto& work : side.work) {
        const auto found = work.find(measure);
        units.push_back(found == work.end() ? 0 : found->second);
    }
    return units;
}

Result<void> choose_measure(ProfileDiff& diff, DiffSide& before, DiffSide& after, const Measure& measure) {
    diff.unit = measure.empty() ? common_work(before.profile, after.profile) : measure == "share" ? "" : measure;
    diff.by_amount = counts_living(before.profile.run) && counts_living(after.profile.run);
    if (diff.by_amount || diff.unit.empty()) {
        diff.unit.clear();
        return {};
    }
    for (DiffSide* const side : {&before, &after}) {
        if (sum_of(units_of(*side, diff.unit)) <= 0)
            return Error{std::string(side == &before ? "before" : "after") + " has no count of '" + diff.unit +
                         "': compare by share, second or run"};
    }
    diff.by_amount = true;
    if (diff.unit != "run" && diff.unit != "second")
        diff.counted = {units_of(before, diff.unit), units_of(after, diff.unit)};
    diff.units = sum_of(units_of(before, diff.unit));
    const double scale = diff.units / sum_of(units_of(after, diff.unit));
    for (NamedCount& count : after.profile.counts)
        count.weight = static_cast<std::uint64_t>(std::llround(static_cast<double>(count.weight) * scale));
    for (Piece& piece : after.pieces) piece.weight *= scale;
    return {};
}

std::vector<double> wholes_of(const DiffSide& side, const std::string& unit, double scale) {
    if (!unit.empty() && side.runs > 1 && side.clusters == side.runs) {
        std::vector<double> units = units_of(side, unit);
        for (double& one : units) one *= scale;
        return units;
    }
    std::vector<double> wholes(side.clusters + side.threads);
    for (const Piece& piece : side.pieces) wholes[piece.cluster] += piece.weight;
    return wholes;
}

}  // namespace flameprobe
