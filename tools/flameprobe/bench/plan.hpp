// The runs of a bench, in their order.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench_file.hpp"

namespace flameprobe::bench {

using SweepValues = std::map<std::string, SweepValue>;

/// "set io=2", for people.
std::string title_of(const std::string& scenario, const SweepValues& sweep);

/// A scenario with one value for each variable.
struct Point {
    const Scenario* scenario = nullptr;
    SweepValues sweep;

    std::string title() const { return title_of(scenario->name, sweep); }
    /// "set/io=2" or "set/all", with only characters that file names may have.
    std::string path() const;
};

/// Every scenario with every combination of its variables. `file` has to outlive them.
std::vector<Point> points_of(const BenchFile& file);

struct PlannedRun {
    std::size_t point = 0;  // index
    unsigned repetition = 1;
};
/// All points, repetition by repetition, every second one in reverse order, so that drift over time (heat, neighbours)
/// affects all points alike.
std::vector<PlannedRun> plan_of(std::size_t points, unsigned repeat);

}  // namespace flameprobe::bench
