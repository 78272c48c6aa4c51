// How much less certain figures are than their number of samples says: samples of one stretch of time, and of one run,
// are alike, so that twice the frequency is not twice the evidence.
#pragma once

#include <cstddef>
#include <vector>

namespace flameprobe {

/// Half of an interval that holds 99.9 % of what a normal distribution gives, in standard deviations.
inline constexpr double z_of_999_in_1000 = 3.29;

/// How much runs of one program differ beside samples: the standard deviation of a part's odds, as a part of them. One
/// run does not show it (docs/decisions/0017-one-comparison.md).
inline constexpr double between_runs = 0.05;

/// One side's figure in its clusters, which are runs, or stretches of the time of its only run.
struct Clusters {
    const double* part = nullptr;   // of each cluster
    const double* whole = nullptr;  // what it is a part of: weight, or units of work
    std::size_t count = 0;          // 0 or 1: the spread is not known
    double variance = 0;            // of the sum of `part` as samples drawn at random have it
    double variance_of = 0;         // of the sum of `whole`, likewise; 0 where it is not drawn
    bool one_run = false;           // then clusters do not show how runs differ, and between_runs stands for it
};

/// The factor, 1 or more, by which the variance of the difference of the two parts exceeds that of samples drawn at
/// random. It has what Student's t adds to z_of_999_in_1000 where the spread is known from few clusters.
double widening(const Clusters& before, const Clusters& after);

}  // namespace flameprobe
