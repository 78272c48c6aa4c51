// The statistics of repeated runs. Distributions come from Boost.Math, and stay in the .cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace flameprobe::bench {

double mean_of(const std::vector<double>& values);  // 0 of none

/// A mean with the interval that holds the true one in 95 of 100 such measurements (Student's t).
struct Interval {
    double mean = 0;
    std::optional<double> low, high;  // not with fewer than two values
};
/// `floor`: the variance of one value that is known anyway, from counting. A few runs may agree by chance (one sample
/// of a function in each of three), which is no proof that there is no noise.
Interval interval_of(const std::vector<double>& values, double floor = 0);

/// The t that a two-sided 95 % interval with so many degrees of freedom reaches to. `freedom` > 0.
double t_quantile(double freedom);

struct Comparison {
    double before = 0, after = 0;     // means
    double difference = 0;            // after − before, or what is left of it by compare_adjusted()
    std::optional<double> low, high;  // of the difference, 95 %
    double p = 1;                     // two-sided; 1 where nothing can be said
    double change() const { return before != 0 ? difference / before : 0; }
};
/// Values of one side, and the floor of their variance as in interval_of().
struct Sample {
    std::vector<double> values;
    double floor = 0;
};
/// Welch's t test: the two sides may vary differently. Needs two values on each side.
Comparison compare_means(const Sample& before, const Sample& after);

/// As compare_means(), of values in the order in which they were measured: where neighbours resemble each other, as
/// they do on a machine whose load changes slowly, the mean is less certain than the spread says. From five values on
/// each side on.
Comparison compare_series(const Sample& before, const Sample& after);

/// By the differences of pairs (Student's t), for what varies alike in both of a pair. Sizes are equal.
Comparison compare_pairs(const std::vector<double>& before, const std::vector<double>& after);

/// Of each value of the two sides another figure of the same run that moves with it for the same reasons.
struct Covariate {
    std::vector<double> before, after;
    double gap_variance = 0;  // of the difference between the two sides' means, as far as it is not exactly known
};
/// As compare_means(), of what the covariate does not explain (analysis of covariance). The slope is that within the
/// sides, weighed with being in step (as many per cent more of the one as of the other), which is what is expected,
/// with a standard deviation of a quarter, before the runs are seen; how well it is known is part of the error. As
/// compare_means() where the covariate does not vary, or there are fewer than six values. Sizes equal those of the
/// samples.
Comparison compare_adjusted(const Sample& before, const Sample& after, const Covariate& covariate);

/// Two shares of counts: `part` of `whole` before and after. p by the normal approximation of two binomials, 1 below
/// five expected on a side.
Comparison compare_shares(double part_before, double whole_before, double part_after, double whole_after);

/// Which of the hypotheses are rejected where at most the share `rate` of the rejections may be false (Benjamini and
/// Hochberg 1995). In the order of `p`.
std::vector<bool> discoveries(const std::vector<double>& p, double rate);

struct Line {
    double slope = 0, intercept = 0;
    std::optional<double> error;  // standard error of the slope
    double p = 1;                 // of a slope that is only chance
};
/// Least squares; needs two different x, and three points for an error. Sizes are equal.
Line fit_line(const std::vector<double>& x, const std::vector<double>& y, double floor = 0);

}  // namespace flameprobe::bench
