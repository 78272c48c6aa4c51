// The runs of a bench, in their order.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench_file.hpp"

namespace flameprobe::bench {

/// A scenario with one value for each variable.
struct Point {
    const Scenario* scenario = nullptr;
    std::map<std::string, SweepValue> sweep;

    /// "set io=2", for people.
    std::string title() const;
    /// "set/io=2" or "set/all", in which every character may stand in a file's name.
    std::string path() const;
};

/// Every scenario with every combination of its variables. `file` has to outlive them.
std::vector<Point> points_of(const BenchFile& file);

struct PlannedRun {
    std::size_t point = 0;  // index
    unsigned repetition = 1;
};
/// Repetition by repetition, each second one backwards, so that what drifts with time (heat, neighbours) falls on all
/// points alike.
std::vector<PlannedRun> plan_of(std::size_t points, unsigned repeat);

}  // namespace flameprobe::bench
