#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace flameprobe::bench {

namespace {

/// An interval whose lower end is not negative.
Interval cost_interval(const std::vector<double>& values, double floor = 0) {
    Interval interval = interval_of(values, floor);
    if (interval.low) interval.low = std::max(0.0, *interval.low);
    return interval;
}

template <class Value>
std::vector<double> values_of(const std::vector<RunRecord>& runs, const Value& value) {
    std::vector<double> values;
    for (const RunRecord& run : runs) values.push_back(value(run));
    return values;
}

double sample_cost(const PointReport& point) {
    return interval_of(values_of(point.runs, [](const RunRecord& run) { return run.sample_cost(); })).mean;
}

double sampled_seconds(const RunRecord& run) {
    double sum = 0;
    for (const auto& [name, time] : run.functions) sum += static_cast<double>(time.self_ns) / 1e9;
    return sum;
}

void add_functions(PointReport& point) {
    std::set<std::string> names;
    for (const RunRecord& run : point.runs) {
        for (const auto& [name, time] : run.functions) {
            if (time.self_ns > 0 || time.total_ns > 0) names.insert(name);
        }
    }
    for (const std::string& name : names) {
        FunctionCost function{name, {}, 0, {}};
        for (const RunRecord& run : point.runs) {
            const auto found = run.functions.find(name);
            const FunctionTime time = found == run.functions.end() ? FunctionTime{} : found->second;
            function.values.push_back(static_cast<double>(time.self_ns) / run.units());
            function.total += static_cast<double>(time.total_ns) / run.units() / static_cast<double>(point.runs.size());
        }
        const double mean = interval_of(function.values).mean;
        function.cost = cost_interval(function.values, sampling_variance(mean, point.cost.mean, sample_cost(point)));
        point.functions.push_back(std::move(function));
    }
    FunctionCost rest{"[not sampled]", {}, 0, values_of(point.runs, [](const RunRecord& run) {
                          return std::max(0.0, run.cpu_seconds - sampled_seconds(run)) * 1e9 / run.units();
                      })};
    rest.cost = cost_interval(rest.values);
    rest.total = rest.cost.mean;
    if (rest.cost.mean > 0) point.functions.push_back(std::move(rest));
    std::stable_sort(point.functions.begin(), point.functions.end(), [](const FunctionCost& a, const FunctionCost& b) {
        return std::pair(-a.cost.mean, -a.total) < std::pair(-b.cost.mean, -b.total);
    });
}

/// Half of the interval, of the mean.
std::optional<double> relative_error(const Interval& interval) {
    if (!interval.high || interval.mean <= 0) return std::nullopt;
    return (*interval.high - interval.mean) / interval.mean;
}

std::vector<Growth> growth_of(const std::vector<std::pair<double, const PointReport*>>& points) {
    std::map<std::string, std::vector<double>> costs;
    std::map<std::string, double> floors;  // the mean of the points'
    std::vector<double> n;
    for (const auto& [at, point] : points) {
        for (const FunctionCost& function : point->functions) {
            auto& values = costs[function.name];
            floors[function.name] += sampling_variance(function.cost.mean, point->cost.mean, sample_cost(*point)) /
                                     static_cast<double>(points.size());
            values.resize(n.size(), 0);  // 0 for runs without samples of the function
            values.insert(values.end(), function.values.begin(), function.values.end());
        }
        n.insert(n.end(), point->runs.size(), at);
    }
    std::vector<Growth> growth;
    std::vector<double> p;
    for (auto& [name, values] : costs) {
        values.resize(n.size(), 0);
        const Line line = fit_line(n, values, floors[name]);
        const auto at = [&line](double where) { return std::max(0.0, line.intercept + line.slope * where); };
        growth.push_back({name, at(points.front().first), at(points.back().first), line.p, false});
        p.push_back(line.p);
    }
    const std::vector<bool> found = discoveries(p, 0.05);
    for (std::size_t i = 0; i < growth.size(); ++i) growth[i].found = found[i];
    std::stable_sort(growth.begin(), growth.end(),
                     [](const Growth& a, const Growth& b) { return a.growth() > b.growth(); });
    return growth;
}

ScalingReport scaling_of(const std::string& scenario, const std::string& variable, const SweepValues& others,
                         std::vector<std::pair<double, const PointReport*>> points) {
    std::sort(points.begin(), points.end());
    ScalingReport report;
    report.scenario = scenario;
    report.variable = variable;
    report.others = others;
    std::vector<double> n, x;
    for (const auto& [at, point] : points) {
        if (!point->throughput) continue;
        report.rows.push_back({at, *point->throughput, 0, {}});
        for (const RunRecord& run : point->runs) {
            n.push_back(at);
            x.push_back(*run.work_per_second());
        }
    }
    for (ScalingRow& row : report.rows) {
        const ScalingRow& first = report.rows.front();
        row.efficiency = row.throughput.mean / row.n / (first.throughput.mean / first.n);
        const auto of_first = relative_error(first.throughput), of_this = relative_error(row.throughput);
        if (&row != &first && of_first && of_this) row.error = row.efficiency * std::hypot(*of_first, *of_this);
    }
    report.amdahl = fit_amdahl(n, x);
    report.usl = fit_usl(n, x);
    report.growth = growth_of(points);
    if (const auto& pictures = points.back().second->pictures; !pictures.empty()) report.flame_graph = pictures.front();
    return report;
}

}  // namespace

std::map<std::string, Interval> run_figures(const PointReport& point) {
    std::map<std::string, std::vector<double>> values;
    const bool waits = std::any_of(point.runs.begin(), point.runs.end(), [](auto& run) { return !run.waits.empty(); });
    for (const RunRecord& run : point.runs) {
        values["seconds"].push_back(run.seconds);
        values["cpu_seconds"].push_back(run.cpu_seconds);
        if (run.ipc) values["ipc"].push_back(*run.ipc);
        visit_counts(run,
                     [&](const char* name, const auto& value) { values[name].push_back(static_cast<double>(value)); });
        if (!waits) continue;
        values["blocked_seconds"].push_back(run.blocked_seconds());
        values["preempted_seconds"].push_back(run.preempted_seconds());
    }
    std::map<std::string, Interval> figures;
    for (const auto& [name, of_runs] : values) figures[name] = cost_interval(of_runs);
    return figures;
}

double sampling_variance(double cost, double whole, double sample_cost) {
    return whole <= 0 ? 0 : cost * sample_cost * std::max(0.0, 1 - cost / whole);
}

PointReport point_report(const Point& point, const std::vector<RunRecord>& runs) {
    PointReport report;
    report.name = point.scenario->name;
    report.title = point.title();
    report.sweep = point.sweep;
    const bool counted = point.scenario->work.given();
    report.unit = counted ? point.scenario->work.unit : "seconds";
    for (const RunRecord& run : runs) {
        if (run.ok())
            report.runs.push_back(run);
        else
            report.failures.emplace_back(run.repetition, run.failure);
    }
    if (report.runs.empty()) return report;
    if (counted)
        report.throughput = interval_of(values_of(report.runs, [](auto& run) { return *run.work_per_second(); }));
    report.cost = cost_interval(values_of(report.runs, [](auto& run) { return run.cpu_ns_per_unit(); }));
    if (!point.scenario->latency.pattern.empty()) {
        report.latency_unit = point.scenario->latency.unit;
        report.latency = interval_of(values_of(report.runs, [](auto& run) { return run.latency.value_or(0); }));
    }
    add_functions(report);
    return report;
}

std::vector<ScalingReport> scaling_reports(const std::vector<PointReport>& points) {
    struct Key {
        std::string scenario, variable;
        SweepValues others;
        bool operator==(const Key& other) const {
            return std::tie(scenario, variable, others) == std::tie(other.scenario, other.variable, other.others);
        }
    };
    std::vector<std::pair<Key, std::vector<std::pair<double, const PointReport*>>>> groups;
    for (const PointReport& point : points) {
        for (const auto& [name, value] : point.sweep) {
            if (point.runs.empty() || !value.number || *value.number <= 0) continue;
            Key key{point.name, name, point.sweep};
            key.others.erase(name);
            auto group = std::find_if(groups.begin(), groups.end(), [&key](auto& one) { return one.first == key; });
            if (group == groups.end()) group = groups.insert(groups.end(), {key, {}});
            group->second.emplace_back(*value.number, &point);
        }
    }
    std::vector<ScalingReport> reports;
    for (const auto& [key, members] : groups) {
        if (members.size() >= 2) reports.push_back(scaling_of(key.scenario, key.variable, key.others, members));
    }
    return reports;
}

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
        costs.samples += values.samples;
        costs.functions.push_back({name, not_negative(interval_of(values.bytes, of_bytes)),
                                   not_negative(interval_of(values.number, of_number)), values.total_bytes,
                                   values.samples, values.bytes, values.number});
    }
    std::stable_sort(costs.functions.begin(), costs.functions.end(), [](auto& a, auto& b) {
        return std::pair(-a.bytes.mean, -a.total_bytes) < std::pair(-b.bytes.mean, -b.total_bytes);
    });
    costs.bytes = not_negative(interval_of(bytes, bytes_floor));
    costs.number = not_negative(interval_of(number, number_floor));
    costs.bytes_of_runs = std::move(bytes), costs.number_of_runs = std::move(number);
    return costs;
}

}  // namespace flameprobe::bench
