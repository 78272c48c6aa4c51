// How throughput grows with a variable: efficiency, Amdahl's law and the Universal Scalability Law.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace flameprobe::bench {

/// A fitted number with its 95 % interval.
struct Parameter {
    double value = 0;
    std::optional<double> low, high;  // only if there are more points than parameters
};

/// X(N) = λN / (1 + σ(N−1) + κN(N−1)). Amdahl's law is κ = 0, with σ the serial share.
struct ScalingFit {
    bool valid = false;
    std::string why_not;
    Parameter lambda;  // units a second at N = 1
    Parameter sigma;   // contention
    Parameter kappa;   // coherence; not in Amdahl's law
    double r_squared = 0;
    std::optional<double> best_n;  // where throughput is highest, if κ > 0 and σ < 1
    double at(double n) const;
};

/// `n` positive, `x` throughput of every run. Least squares of relative errors. Amdahl's law needs two different n, the
/// Universal Scalability Law three. σ and κ may come out negative, which means growth that is better than linear, or
/// noise.
ScalingFit fit_amdahl(const std::vector<double>& n, const std::vector<double>& x);
ScalingFit fit_usl(const std::vector<double>& n, const std::vector<double>& x);

struct ScalingReport;
/// Throughput over the variable, with intervals and both fitted laws, as a small SVG for an HTML page.
std::string scaling_chart(const ScalingReport& scaling, const std::string& unit);

}  // namespace flameprobe::bench
