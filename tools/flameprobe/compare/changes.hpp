// What changed beyond noise between two measurements.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "measurement.hpp"
#include "statistics.hpp"

namespace flameprobe::compare {

enum class Kind { throughput, cost, bytes, allocations, function, function_bytes };

struct Change {
    std::string where;  // the scenario with its variables
    Kind kind = Kind::function;
    std::string name;  // of the function
    std::string unit;
    bench::Comparison comparison;
    bool found = false;  // beyond noise, corrected for the number of tests in this comparison
    /// By how much it became worse (less throughput, more cost), as a share of its old value. Negative: better.
    double worse() const;
};

struct Judgement {
    double rate = 0.05;                // at most this share of what is found may be false
    std::vector<Change> changes;       // all that were tested: those beyond noise first, then by their cost
    std::vector<std::string> remarks;  // what could not be compared, and why
    /// The largest worsening beyond noise, 0 if there is none.
    double worst() const;
};

struct JudgeOptions {
    double rate = 0.05;
    /// Functions that take less than this share of the CPU time on both sides are not tested: each test makes the
    /// others weaker.
    double least_share = 0.005;
    /// The runs of the two sides took turns, and those with the same number are a pair: throughput and total cost are
    /// compared by pairs.
    bool taking_turns = false;
};

/// Points are matched by scenario and variables, functions by name. The test is Welch's t over runs, for functions
/// without what all of them have in common in a run (pace.hpp). Profiles are compared by tools/render/diff.hpp.
Result<Judgement> judge(const Measurement& before, const Measurement& after, const JudgeOptions& options);

}  // namespace flameprobe::compare
