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

double Pace::median(std::size_t run, const std::string& except) const {
    std::vector<std::pair<double, double>> shares;  // with weights
    double whole = 0;
    for (const Function& function : functions_) {
        if (function.name == except) continue;
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

std::optional<bench::Covariate> Pace::of_all_except(const std::string& except) const {
    double whole = 0, heaviest = 0;
    std::size_t count = 0;
    for (const Function& function : functions_) {
        if (function.name == except) continue;
        ++count;
        whole += function.weight;
        heaviest = std::max(heaviest, function.weight);
    }
    if (count < least_functions || heaviest > most_weight * whole) return std::nullopt;
    bench::Covariate pace;
    pace.before = side(before_, 0, except, pace.gap_variance);
    pace.after = side(after_, before_.size(), except, pace.gap_variance);
    return pace;
}

// Within a side the clock gives each run's pace, without the noise of samples. It cannot give the difference between
// the sides, since a function that changed is part of the total.
std::vector<double> Pace::side(const std::vector<double>& costs, std::size_t first, const std::string& except,
                               double& gap_variance) const {
    std::vector<double> medians;
    for (std::size_t run = 0; run < costs.size(); ++run) medians.push_back(median(first + run, except));
    const double mean = bench::mean_of(medians), cost = bench::mean_of(costs);
    std::vector<double> paces;
    double squares = 0;
    for (std::size_t run = 0; run < costs.size(); ++run) {
        paces.push_back(mean * costs[run] / cost);
        squares += (medians[run] - paces[run]) * (medians[run] - paces[run]);
    }
    const auto count = static_cast<double>(costs.size());
    if (count > 1) gap_variance += squares / (count - 1) / count;
    return paces;
}

std::optional<bench::Covariate> Pace::without(const std::string& function) const {
    auto pace = of_all_except(function);
    if (pace && exceeds_chance(gap(*pace))) pace.reset();
    return pace;
}

bool Pace::exceeds_chance(const bench::Comparison& change) {
    constexpr double machine = 0.1, chance = 0.01;
    return std::abs(change.change()) >= machine && change.p < chance;
}

std::optional<bench::Comparison> Pace::change() const {
    const auto pace = of_all_except("");
    if (!pace) return std::nullopt;
    return gap(*pace);
}

}  // namespace flameprobe::compare
