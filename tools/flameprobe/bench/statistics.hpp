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
