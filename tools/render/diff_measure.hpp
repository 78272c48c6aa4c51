// By what two profiles are compared: shares, seconds, runs, units of work, or what is alive.
#pragma once

#include <numeric>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "diff.hpp"

namespace flameprobe {

/// How many of `measure` a run of the side has, for each of its runs; empty: it is not known.
std::vector<double> units_of(const DiffSide& side, const std::string& measure);
inline double sum_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

/// Decides what is compared, and scales the later side to as many units as the earlier has. An Error where a side has
/// no count of what was asked for.
Result<void> choose_measure(ProfileDiff& diff, DiffSide& before, DiffSide& after, const Measure& measure);

/// Of each cluster what its figures are parts of: of runs the units of work, else all weight.
std::vector<double> wholes_of(const DiffSide& side, const std::string& unit, double scale);

}  // namespace flameprobe
