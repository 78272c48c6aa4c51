// The report of all runs, which is written as report.json, report.md and report.html.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench_file.hpp"
#include "run_record.hpp"
#include "scaling.hpp"
#include "statistics.hpp"

namespace flameprobe::bench {

struct FunctionCost {
    std::string name;
    Interval cost;               // CPU nanoseconds per unit of work, in the function itself
    double total = 0;            // with what it calls, mean
    std::vector<double> values;  // of each run, in the order of runs
};

/// Variance that a function's cost per unit has from being sampled alone: samples are counted (binomial).
/// `sample_cost`: CPU nanoseconds per unit that one sample stands for; `whole`: the cost of all functions.
double sampling_variance(double cost, double whole, double sample_cost);

struct PointReport {
    std::string name;  // of the scenario
    std::string title;
    std::map<std::string, SweepValue> sweep;
    std::string unit;                                        // of work; "seconds" (of the load) where none is counted
    std::string latency_unit;                                // empty: none is read
    std::vector<RunRecord> runs;                             // successful ones, by repetition
    std::vector<std::pair<unsigned, std::string>> failures;  // repetition, why
    std::optional<Interval> throughput;                      // units a second
    Interval cost;                                           // CPU nanoseconds per unit
    std::optional<Interval> latency;
    std::vector<FunctionCost> functions;  // dearest first; what the samples do not cover is [not sampled]
    std::vector<std::string> pictures;    // relative paths, the flame graph first
};

/// How a function's cost per unit of work grows with the variable.
struct Growth {
    std::string name;
    double at_least = 0, at_most = 0;  // fitted cost at the smallest and the largest value
    double p = 1;
    bool found = false;  // beyond noise, at a false discovery rate of 5 % over functions
    double growth() const { return at_most - at_least; }
};

struct ScalingRow {
    double n = 0;
    Interval throughput;
    double efficiency = 0;        // throughput for each n, relative to that at the smallest n
    std::optional<double> error;  // half of its 95 % interval; not at the smallest n, where it is 1
};

/// One scenario over one numeric variable, the others held.
struct ScalingReport {
    std::string scenario, variable;
    std::map<std::string, SweepValue> others;
    std::vector<ScalingRow> rows;
    ScalingFit amdahl, usl;
    std::string flame_graph;     // relative path, of the largest n; empty: there is none
    std::vector<Growth> growth;  // largest first
};

struct Report {
    std::string name;
    std::vector<std::pair<std::string, std::string>> facts;  // date, commit, machine
    unsigned repeat = 0;
    std::vector<PointReport> points;
    std::vector<ScalingReport> scalings;
};

/// The figures of one point, and its failed runs.
PointReport point_report(const Point& point, const std::vector<RunRecord>& runs);
/// For every scenario and numeric variable with two values or more. Points without two runs are left out.
std::vector<ScalingReport> scaling_reports(const std::vector<PointReport>& points);

/// The other figures of which each run has one value, by name in JSON. Without those that no run has: `ipc` where it
/// cannot be counted, waits where they were not asked for.
std::map<std::string, Interval> run_figures(const PointReport& point);

std::string report_json(const Report& report);
std::string report_markdown(const Report& report);
std::string report_html(const Report& report);

// What a unit of work allocates, by function.

struct AllocationCost {
    std::string name;
    Interval bytes, number;  // per unit of work, by the function itself
    double total_bytes = 0;  // with what it calls, mean
    double samples = 0;      // in a run, mean
    std::vector<double> bytes_of_runs, number_of_runs;
};

struct AllocationCosts {
    std::vector<AllocationCost> functions;  // most bytes first; empty: no run has any
    Interval bytes, number;                 // per unit of work, of all functions
    double samples = 0;
    std::vector<double> bytes_of_runs, number_of_runs;
};

AllocationCosts allocation_costs(const PointReport& point);

}  // namespace flameprobe::bench
