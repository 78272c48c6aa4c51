// What the functions of a run have in common: on a shared machine, all of them are dearer in one run than in another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measurement.hpp"
#include "statistics.hpp"

namespace flameprobe::compare {

/// The pace of a side is the median, over functions, of what a function costs in a run as a share of what it costs over
/// all runs of both sides, on average; that of a run, beside the others of its side, is what the whole costs. One
/// function that became dearer does not move it. It is known where there are ten runs, and six functions with ten
/// samples a run of which none outweighs the others.
class Pace {
public:
    /// `least_share` of the CPU time: smaller functions are left out.
    Pace(const MeasuredPoint& before, const MeasuredPoint& after, double least_share);

    /// Of each run, as all functions but this one have it. None where it is not known, or where that of the two
    /// sides differs by more than chance: then functions are compared as they are.
    std::optional<bench::Covariate> without(const std::string& function) const;
    /// By all functions. None where it is not known.
    std::optional<bench::Comparison> change() const;

    /// Whether the two sides' paces differ by more than the machine may have done from one bench to the next: 10 %, and
    /// more than their runs let expect (p < 1 %). Benches of one program were seen to differ by 6 %.
    static bool is_no_chance(const bench::Comparison& change);

private:
    struct Function {
        std::string name;
        double weight = 0;  // the root of its samples: their number makes its share of a run as certain as that
        std::vector<double> shares;  // of its mean, by run; first all of `before`
    };

    void add(const std::string& name, const std::vector<double>& before, const std::vector<double>& after);
    std::optional<bench::Covariate> of_all_but(const std::string& function) const;
    double median(std::size_t run, const std::string& but) const;
    std::vector<double> side(const std::vector<double>& costs, std::size_t first, const std::string& but,
                             double& gap_variance) const;

    const std::vector<double>&before_, &after_;  // costs of the runs
    std::vector<Function> functions_;
};

}  // namespace flameprobe::compare
