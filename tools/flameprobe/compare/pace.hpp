// What the functions of a run have in common: on a shared machine all of them cost more in one run than in another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measurement.hpp"
#include "statistics.hpp"

namespace flameprobe::compare {

/// The pace of a side is the median, over functions, of a function's cost relative to its mean over all runs of both
/// sides. The pace of a run within its side is the run's total cost. One function that costs more now does not change
/// it. It is known from ten runs on, with six functions with ten samples a run of which none outweighs the others.
class Pace {
public:
    /// Functions below `least_share` of the CPU time are left out.
    Pace(const MeasuredPoint& before, const MeasuredPoint& after, double least_share);

    /// The pace of each run, from all functions but this one. None if it is not known, or if the two sides differ by
    /// more than chance: then functions are compared without it.
    std::optional<bench::Covariate> without(const std::string& function) const;
    /// The change of the pace, from all functions. None if it is not known.
    std::optional<bench::Comparison> change() const;

    /// Whether the paces of the two sides differ by more than the machine alone causes from one bench to the next: by
    /// 10 %, and more than their runs differ by (p < 1 %). Benches of the same program were seen to differ by 6 %.
    static bool exceeds_chance(const bench::Comparison& change);

private:
    struct Function {
        std::string name;
        double weight = 0;           // the root of its samples, to which the precision of its shares is proportional
        std::vector<double> shares;  // its cost relative to its mean, by run; first all runs of `before`
    };

    void add(const std::string& name, const std::vector<double>& before, const std::vector<double>& after);
    std::optional<bench::Covariate> of_all_except(const std::string& function) const;
    double median(std::size_t run, const std::string& except) const;
    std::vector<double> side(const std::vector<double>& costs, std::size_t first, const std::string& except,
                             double& gap_variance) const;

    const std::vector<double>&before_, &after_;  // costs of the runs
    std::vector<Function> functions_;
};

}  // namespace flameprobe::compare
