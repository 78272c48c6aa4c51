#include "pace.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace flameprobe::compare {

namespace {

constexpr std::size_t least_runs = 10, least_functions = 5;
constexpr double least_samples = 10, most_weight = 1.0 / 3;

bench::Comparison gap(const bench::Covariate& pace) { return bench::compare_series({pace.before, 0}, {pace.after, 0}); }

}  // namespace

Pace::Pace(const MeasuredPoint& before, const MeasuredPoint& after, double least_share)
    : before_(before.cost), after_(after.cost) {
    if (before_.size() + after_.size() < least_runs) return;
    const auto enough = [least_share](const MeasuredPoint& point, const std::vector<double>& costs) {
        const double mean = bench::mean_of(costs);
        return mean > 0 && mean >= least_share * bench::mean_of(point.cost) &&
               mean >= least_samples * point.sample_cost;
    };
    for (const auto& [name, costs] : before.functions) {
        const auto now = after.functions.find(name);
        if (now == after.functions.end()) continue;
        if (enough(before, costs) && enough(after, now->second)) add(name, costs, now->second);
    }
}

void Pace::add(const std::string& name, const std::vector<double>& before, const std::vector<double>& after) {
    Function function{name, 0, before};
    function.shares.insert(function.shares.end(), after.begin(), after.end());
    const double whole = bench::mean_of(function.shares);
    function.weight = std::sqrt(whole);
    for (double& share : function.shares) share /= whole;
    functions_.push_back(std::move(function));
}

double Pace::median(std::size_t run, const std::string& but) const {
    std::vector<std::pair<double, double>> shares;  // with weights
    double whole = 0;
    for (const Function& function : functions_) {
        if (function.name == but) continue;
        shares.emplace_back(function.shares[run], function.weight);
        whole += function.weight;
    }
    std::sort(shares.begin(), shares.end());
    double below = 0;
    for (const auto& [share, weight] : shares) {
        below += weight;
        if (below >= whole / 2) return share;
    }
    return 1;
}

std::optional<bench::Covariate> Pace::of_all_but(const std::string& but) const {
    double whole = 0, heaviest = 0;
    std::size_t count = 0;
    for (const Function& function : functions_) {
        if (function.name == but) continue;
        ++count;
        whole += function.weight;
        heaviest = std::max(heaviest, function.weight);
    }
    if (count < least_functions || heaviest > most_weight * whole) return std::nullopt;
    bench::Covariate pace;
    pace.before = side(before_, 0, but, pace.gap_variance);
    pace.after = side(after_, before_.size(), but, pace.gap_variance);
    return pace;
}

// Within a side the clock gives each run's pace, without the noise of samples. It cannot give the difference between
// the sides, since a function that changed is part of the total.
std::vector<double> Pace::side(const std::vector<double>& costs, std::size_t first, const std::string& but,
                               double& gap_variance) const {
    std::vector<double> told;
    for (std::size_t run = 0; run < costs.size(); ++run) told.push_back(median(first + run, but));
    const double mean = bench::mean_of(told), cost = bench::mean_of(costs);
    std::vector<double> paces;
    double squares = 0;
    for (std::size_t run = 0; run < costs.size(); ++run) {
        paces.push_back(mean * costs[run] / cost);
        squares += (told[run] - paces[run]) * (told[run] - paces[run]);
    }
    const auto count = static_cast<double>(costs.size());
    if (count > 1) gap_variance += squares / (count - 1) / count;
    return paces;
}

std::optional<bench::Covariate> Pace::without(const std::string& function) const {
    auto pace = of_all_but(function);
    if (pace && is_no_chance(gap(*pace))) pace.reset();
    return pace;
}

bool Pace::is_no_chance(const bench::Comparison& change) {
    constexpr double machine = 0.1, chance = 0.01;
    return std::abs(change.change()) >= machine && change.p < chance;
}

std::optional<bench::Comparison> Pace::change() const {
    const auto pace = of_all_but("");
    if (!pace) return std::nullopt;
    return gap(*pace);
}

}  // namespace flameprobe::compare
