// What the functions of a run have in common: on a shared machine, all of them are dearer in one run than in another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measurement.hpp"
#include "statistics.hpp"

namespace flameprobe::compare {

/// The pace of a run is the median, over functions, of what a function costs in it as a share of what it costs over all
/// runs of both sides. One function that became dearer does not move it. It is known where there are ten runs, and six
/// functions with ten samples a run of which none outweighs the others.
class Pace {
public:
    /// `least_share` of the CPU time: smaller functions are left out.
    Pace(const MeasuredPoint& before, const MeasuredPoint& after, double least_share);

    /// Of each run, as all functions but this one have it. None where it is not known, or where the two sides differ by
    /// more than their runs do: then it is no noise of runs, and functions are compared as they are.
    std::optional<bench::Covariate> without(const std::string& function) const;
    /// By all functions. None where it is not known.
    std::optional<bench::Comparison> change() const;

    /// A difference between the two sides' paces that is less likely than this by chance is no noise of runs.
    static constexpr double no_chance = 0.01;

private:
    struct Function {
        std::string name;
        double weight = 0;  // the root of its samples: their number makes its share of a run as certain as that
        std::vector<double> shares;  // of its mean, by run; first all of `before`
    };

    void add(const std::string& name, const std::vector<double>& before, const std::vector<double>& after);
    std::optional<bench::Covariate> of_all_but(const std::string& function) const;
    double median(std::size_t run, const std::string& but) const;

    std::size_t before_, after_;  // runs
    std::vector<Function> functions_;
};

}  // namespace flameprobe::compare
