// One side of a comparison of results of the bench.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace flameprobe::compare {

/// What a unit of work allocates, by run; empty where the bench did not ask for it.
struct MeasuredAllocations {
    struct Function {
        std::vector<double> bytes;
        double samples = 0;  // in a run
    };
    std::vector<double> bytes, number;
    double samples = 0;
    std::map<std::string, Function> functions;
};

struct MeasuredPoint {
    std::string scenario, unit;
    std::vector<double> throughput;  // units a second, by run; empty where no work is counted
    std::vector<double> cost;        // CPU nanoseconds per unit
    double sample_cost = 0;          // CPU nanoseconds per unit that one sample stands for
    /// CPU nanoseconds per unit of each function, by run. Without `[not sampled]`, which is the difference between the
    /// clock and the samples of all functions, and so has the noise of all.
    std::map<std::string, std::vector<double>> functions;
    std::map<std::string, std::string> sweep;  // variables and their values
    std::vector<unsigned> repetitions;         // numbers of the runs
    MeasuredAllocations allocations{};

    /// The scenario with its variables: "keys workers=2".
    std::string title() const;
};

struct Measurement {
    std::string path;
    std::vector<MeasuredPoint> points;
};

/// A directory with a report.json, or that file.
Result<Measurement> read_measurement(const std::string& path);
/// The measurement in the text of a report.json; `path` is for messages.
Result<Measurement> parse_measurement(const std::string& text, const std::string& path);

/// Old and new that were measured in one bench, as two values of a variable: their runs took turns.
struct TwoSides {
    Measurement before, after;  // paths: "version=old", "version=new"
};
/// Divides the points into those with the variable's first value and those with its second, with equal titles on both
/// sides. An Error if no scenario has the variable, or it does not have two values.
Result<TwoSides> two_values(const Measurement& measurement, const std::string& variable);

}  // namespace flameprobe::compare
