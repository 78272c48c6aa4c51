// The statistics of repeated runs. Distributions come from Boost.Math, and stay in the .cpp.
#pragma once

#include <optional>
#include <vector>

namespace flameprobe::bench {

double mean_of(const std::vector<double>& values);  // 0 if there are none

/// A mean with its 95 % confidence interval (Student's t).
struct Interval {
    double mean = 0;
    std::optional<double> low, high;  // only with two values or more
};
/// `floor`: the least variance of one value, known from counting samples. A few runs may agree by chance (one sample of
/// a function in each of three), which does not prove that there is no noise.
Interval interval_of(const std::vector<double>& values, double floor = 0);

/// The t quantile of a two-sided 95 % interval with `freedom` degrees of freedom. `freedom` > 0.
double t_quantile(double freedom);

struct Comparison {
    double before = 0, after = 0;     // means
    double difference = 0;            // after − before, or what is left of it by compare_adjusted()
    std::optional<double> low, high;  // of the difference, 95 %
    double p = 1;                     // two-sided; 1 if there are too few values
    double change() const { return before != 0 ? difference / before : 0; }
};
/// Values of one side, and the floor of their variance as in interval_of().
struct Sample {
    std::vector<double> values;
    double floor = 0;
};
/// Welch's t test: the two sides may vary differently. Needs two values on each side.
Comparison compare_means(const Sample& before, const Sample& after);

/// As compare_means(), for values in the order of measurement: if neighbours are correlated, as on a machine whose load
/// changes slowly, the mean is less certain than the spread suggests. The correlation is used from five values on each
/// side on.
Comparison compare_series(const Sample& before, const Sample& after);

/// Student's t test of the differences of pairs, in which common disturbances cancel out. Sizes are equal.
Comparison compare_pairs(const std::vector<double>& before, const std::vector<double>& after);

/// For each value of the two sides another figure of the same run, which varies for the same reasons.
struct Covariate {
    std::vector<double> before, after;
    double gap_variance = 0;  // variance of the difference between the covariate's two means
};
/// As compare_means(), of the part of the values that the covariate does not explain (analysis of covariance). The
/// slope is estimated within the sides, with a prior: in step (both change by the same percentage), with a standard
/// deviation of a quarter. Its uncertainty is part of the error. Falls back to compare_means() if the covariate does
/// not vary, or with fewer than six values. Sizes equal those of the samples.
Comparison compare_adjusted(const Sample& before, const Sample& after, const Covariate& covariate);

/// Which hypotheses are rejected at the false discovery rate `rate` (Benjamini and Hochberg 1995), in the order of `p`.
std::vector<bool> discoveries(const std::vector<double>& p, double rate);

struct Line {
    double slope = 0, intercept = 0;
    std::optional<double> error;  // standard error of the slope
    double p = 1;                 // of the hypothesis that the slope is 0
};
/// Least squares; needs two different x, and three points for an error. Sizes are equal.
Line fit_line(const std::vector<double>& x, const std::vector<double>& y, double floor = 0);

}  // namespace flameprobe::bench
