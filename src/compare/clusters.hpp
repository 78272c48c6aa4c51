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
inline constexpr double between_runs = 0.1;
/// Of code of the kernel, which copies at the pace of the caches that threads share by chance.
inline constexpr double between_runs_of_kernel = 0.25;
/// Of each thread's part of the time: which of two has a lock, or the CPU, chance decides anew in each run.
inline constexpr double between_threads = 0.5;

/// One side's figure in its clusters, which are runs, or stretches of the time of its only run.
struct Clusters {
    const double* part = nullptr;   // of each cluster
    const double* whole = nullptr;  // what it is a part of: weight, or units of work
    std::size_t count = 0;          // 0 or 1: the spread is not known
    double variance = 0;            // of the sum of `part` as samples drawn at random have it
    double variance_of = 0;         // of the sum of `whole`, likewise; 0 where it is not drawn
    bool one_run = false;           // then clusters do not show how runs differ, and what follows stands for it
    double between = between_runs;
    std::size_t threads = 0;  // behind the clusters, `part` and `whole` have the same of so many threads
};

/// The variance of the difference of two parts, as parts of what samples drawn at random give.
struct Spread {
    double seen = 1;     // as the clusters differ
    double freedom = 0;  // of `seen`; 0: it is not known
    double between = 0;  // what runs add that the clusters do not show
    /// What is added where the odds of every part vary from cluster to cluster with a standard deviation of 1.
    double of_odds = 0;
};

Spread spread_of(const Clusters& before, const Clusters& after);

/// The variance of odds from cluster to cluster that most functions have, beside samples drawn at random: the median,
/// weighted by what it adds to each.
double typical_variance(const std::vector<Spread>& functions);

/// The factor, 1 or more, by which a variance is larger than that of samples drawn at random. `typical` adds what few
/// clusters cannot tell, unless this function varies clearly more. What Student's t adds to z_of_999_in_1000 is part of
/// the factor.
double widening(const Spread& its, double typical);

}  // namespace flameprobe
