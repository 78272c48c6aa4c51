// One side of a comparison: a directory of the bench, or a profile.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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

struct MeasuredProfile {
    std::map<std::string, double> functions;  // samples, of their own
    double samples = 0;
    /// Of an event of memory, whose samples stand for very different amounts, what they stand for: bytes, or a number.
    struct Amount {
        double sum = 0, variance = 0, samples = 0;
        void add(double weight, double hits);
    };
    std::string memory_event{};  // empty: of another event
    bool in_bytes = false;
    bool is_living = false;  // compared as it is, not in shares
    std::map<std::string, Amount> amounts{};
    Amount all{};
};

struct Measurement {
    std::string path;
    bool is_profile = false;
    std::vector<MeasuredPoint> points;  // of a bench
    MeasuredProfile profile;
};

/// Of a profile, only some processes, and one event.
struct ChosenProcesses {
    std::string name;  // a regular expression; empty: all
    std::optional<std::uint32_t> pid;
    std::string event;  // empty: the first one
    bool all() const { return name.empty() && !pid && event.empty(); }
};

/// A directory with a report.json, that file, or a .fprobe or folded file.
Result<Measurement> read_measurement(const std::string& path, const ChosenProcesses& chosen = {});
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
