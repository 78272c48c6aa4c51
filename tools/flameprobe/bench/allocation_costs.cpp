#include "allocation_costs.hpp"

#include <algorithm>
#include <map>

namespace flameprobe::bench {

namespace {

struct Values {
    std::vector<double> bytes, number;    // per unit, of each run
    double total_bytes = 0, samples = 0;  // means

    /// That the mean has from being estimated by so many samples.
    double relative_variance() const { return samples > 0 ? 1 / samples : 0; }
};

double squared(double value) { return value * value; }

Interval not_negative(Interval interval) {
    if (interval.low) interval.low = std::max(0.0, *interval.low);
    return interval;
}

}  // namespace

AllocationCosts allocation_costs(const PointReport& point) {
    const std::size_t runs = point.runs.size();
    std::map<std::string, Values> by_function;
    std::vector<double> bytes(runs), number(runs);
    for (std::size_t i = 0; i < runs; ++i) {
        const double units = point.runs[i].units();
        for (const auto& [name, sum] : point.runs[i].allocations) {
            Values& values = by_function[name];
            values.bytes.resize(runs), values.number.resize(runs);
            bytes[i] += values.bytes[i] = static_cast<double>(sum.bytes) / units;
            number[i] += values.number[i] = static_cast<double>(sum.number) / units;
            values.total_bytes += static_cast<double>(sum.total_bytes) / units / static_cast<double>(runs);
            values.samples += static_cast<double>(sum.samples) / static_cast<double>(runs);
        }
    }
    AllocationCosts costs;
    double bytes_floor = 0, number_floor = 0;
    for (auto& [name, values] : by_function) {
        const double part = values.relative_variance(), of_bytes = part * squared(mean_of(values.bytes)),
                     of_number = part * squared(mean_of(values.number));
        bytes_floor += of_bytes, number_floor += of_number;
        costs.functions.push_back({name, not_negative(interval_of(values.bytes, of_bytes)),
                                   not_negative(interval_of(values.number, of_number)), values.total_bytes});
    }
    std::stable_sort(costs.functions.begin(), costs.functions.end(), [](auto& a, auto& b) {
        return std::pair(-a.bytes.mean, -a.total_bytes) < std::pair(-b.bytes.mean, -b.total_bytes);
    });
    costs.bytes = not_negative(interval_of(bytes, bytes_floor));
    costs.number = not_negative(interval_of(number, number_floor));
    return costs;
}

}  // namespace flameprobe::bench
