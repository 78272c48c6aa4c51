#include "disturbed_runs.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "render/text.hpp"

namespace flameprobe::compare {

namespace {

constexpr std::size_t fewest_runs = 5, one_of = 5;
constexpr double least_share = 0.1, deviations = 6, of_a_normal = 1.4826;  // standard deviations in one MAD

double median_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

template <class T>
void erase_runs(std::vector<T>& values, const std::vector<bool>& disturbed) {
    if (values.size() != disturbed.size()) return;
    std::size_t run = 0;
    values.erase(std::remove_if(values.begin(), values.end(), [&](const T&) { return disturbed[run++]; }),
                 values.end());
}

}  // namespace

Undisturbed without_disturbed_runs(const MeasuredPoint& point) {
    Undisturbed result{point, ""};
    const std::size_t count = point.cost.size();
    if (count < fewest_runs) return result;
    const double median = median_of(point.cost);
    std::vector<double> off;
    for (const double cost : point.cost) off.push_back(std::abs(cost - median));
    const double most = std::max(least_share * median, deviations * of_a_normal * median_of(off));
    std::vector<bool> disturbed;
    for (const double one : off) disturbed.push_back(one > most);
    const auto left_out = static_cast<std::size_t>(std::count(disturbed.begin(), disturbed.end(), true));
    if (left_out == 0 || left_out * one_of > count) return result;
    for (std::size_t run = 0; run < count; ++run) {
        if (!disturbed[run]) continue;
        const unsigned number =
            run < point.repetitions.size() ? point.repetitions[run] : static_cast<unsigned>(run + 1);
        const double share = point.cost[run] / median - 1;
        result.remark += (result.remark.empty() ? point.title() + ": left out: run " : ", run ") +
                         std::to_string(number) + " (" + short_decimal(100 * std::abs(share), 0) + " % " +
                         (share < 0 ? "less" : "more") + ")";
    }
    result.remark += "; in CPU time per unit, compared with the median of all runs.";
    erase_runs(result.point.repetitions, disturbed);
    erase_runs(result.point.throughput, disturbed);
    erase_runs(result.point.cost, disturbed);
    for (auto& [name, costs] : result.point.functions) erase_runs(costs, disturbed);
    erase_runs(result.point.allocations.bytes, disturbed);
    erase_runs(result.point.allocations.number, disturbed);
    for (auto& [name, function] : result.point.allocations.functions) erase_runs(function.bytes, disturbed);
    return result;
}

}  // namespace flameprobe::compare
