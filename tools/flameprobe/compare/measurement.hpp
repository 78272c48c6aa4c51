// One side of a comparison: a directory of the bench, or a profile.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace flameprobe::compare {

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

    /// The scenario with its variables: "keys workers=2".
    std::string title() const;
};

struct MeasuredProfile {
    std::map<std::string, double> functions;  // samples, of their own
    double samples = 0;
};

struct Measurement {
    std::string path;
    bool is_profile = false;
    std::vector<MeasuredPoint> points;  // of a bench
    MeasuredProfile profile;
};

/// Of a profile, only some processes.
struct ChosenProcesses {
    std::string name;  // a regular expression; empty: all
    std::optional<std::uint32_t> pid;
    bool all() const { return name.empty() && !pid; }
};

/// A directory with a report.json, that file, or a .fprobe or folded file.
Result<Measurement> read_measurement(const std::string& path, const ChosenProcesses& chosen = {});
/// The measurement in the text of a report.json; `path` is for messages.
Result<Measurement> parse_measurement(const std::string& text, const std::string& path);

}  // namespace flameprobe::compare
