#include "pace.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace flameprobe::compare {

namespace {

constexpr std::size_t least_runs = 10, least_functions = 5;
constexpr double least_samples = 10, most_weight = 1.0 / 3;

}  // namespace

Pace::Pace(const MeasuredPoint& before, const MeasuredPoint& after, double least_share)
    : before_(before.cost.size()), after_(after.cost.size()) {
    if (before_ + after_ < least_runs) return;
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
    for (std::size_t run = 0; run < before_ + after_; ++run)
        (run < before_ ? pace.before : pace.after).push_back(median(run, but));
    return pace;
}

std::optional<bench::Covariate> Pace::without(const std::string& function) const {
    auto pace = of_all_but(function);
    if (pace && bench::compare_series({pace->before, 0}, {pace->after, 0}).p < no_chance) pace.reset();
    return pace;
}

std::optional<bench::Comparison> Pace::change() const {
    const auto pace = of_all_but("");
    if (!pace) return std::nullopt;
    return bench::compare_series({pace->before, 0}, {pace->after, 0});
}

}  // namespace flameprobe::compare
