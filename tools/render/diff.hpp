// Compares two profiles: which shares grew or shrank, which functions are new or gone, and what is noise.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "compare/clusters.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// A part of all weight, and its uncertainty: a sample that stands for several periods is still one observation.
struct Share {
    std::uint64_t count = 0;
    std::uint64_t of = 0;
    /// The variance of `count` and of `of`, in weight squared, as far as hits are drawn at random: the sum of weight
    /// squared over hits. With weights of 1 that is the weight itself.
    double variance = static_cast<double>(count);
    double variance_of = static_cast<double>(of);

    double value() const { return of == 0 ? 0 : static_cast<double>(count) / static_cast<double>(of); }
};

/// From one share to another, in parts of one. `by_amount`: both are parts of the same whole. `widening`: see
/// compare/clusters.hpp.
class Change {
public:
    Change(Share before, Share after, bool by_amount = false, double widening = 1)
        : before_(before), after_(after), by_amount_(by_amount), widening_(widening) {}

    Share before() const { return before_; }
    Share after() const { return after_; }
    double difference() const { return after_.value() - before_.value(); }
    /// Half the width of the interval in which 99.9 % of differences lie if nothing changed: samples are drawn at
    /// random, and both sides estimate the same.
    double noise() const;
    bool is_noise() const;
    /// Two-sided, of no change. 95 % of intervals `difference() ± half()` hold the true difference: it holds 0 just
    /// where p() is above 0.05.
    double p() const;
    double half() const;
    bool appeared() const { return before_.count == 0 && after_.count > 0 && !is_noise(); }
    bool vanished() const { return after_.count == 0 && before_.count > 0 && !is_noise(); }

private:
    Share before_, after_;
    bool by_amount_;
    double widening_;
};

/// The part of a count that a cluster has: a run of a side, or a stretch of time of its only run; or, with a number
/// behind these, one of its threads.
struct Piece {
    std::uint32_t count = 0, cluster = 0;
    double weight = 0;
};

/// One side of a comparison: its runs as one profile, and how they differ.
struct DiffSide {
    NamedProfile profile;
    std::vector<Piece> pieces;  // sorted by count, then cluster; empty: the spread is not known
    std::uint32_t clusters = 0, threads = 0;
    std::uint32_t runs = 1;
    bool of_one_run = false;                          // both sides are of the same run
    std::vector<double> durations;                    // of each run, seconds
    std::vector<std::map<std::string, double>> work;  // of each run: units by name
};

class DiffSums;
struct DiffAnswer;

struct ProfileDiff {
    /// The stacks of both. Functions are equal if their names are: lines, paths and what is inlined differ from build
    /// to build. Weights are normalised: both sides weigh the same in all, so a box's width is the mean of its two
    /// shares.
    NamedProfile profile;
    std::vector<std::uint64_t> before, after;  // weight of each of profile's counts
    std::vector<std::uint64_t> hits_before, hits_after;
    std::vector<double> variance_before, variance_after;
    std::uint64_t weight_before = 0, weight_after = 0;
    /// What is alive is compared by its amount, as parts of the larger side: by shares, what stays as it was would
    /// shrink where something else grows. So is what a unit of work costs.
    bool by_amount = false;
    std::string unit;  // what amounts are for each of: "request", "second", "run"; empty: they are shares, or alive
    double units = 1;  // of them on either side: the later side's weights are scaled to as many as before
    std::string of = "the time";                          // shares of it: "the CPU time"
    std::uint64_t samples_before = 0, samples_after = 0;  // hits
    double all_variance_before = 0, all_variance_after = 0;
    std::array<bool, 2> is_time{};        // before, after: whether weights are nanoseconds
    std::array<double, 2> matched{1, 1};  // before, after: the part whose function, thread and process both have
    std::vector<std::string> remarks;     // what was taken for one although its names differ
    std::vector<std::string> leads;       // what may be one under another name, and is compared so
    std::string left_out;                 // a sentence on what is not compared; empty if all is
    /// The description of each of profile's functions, for colours and places: from the later profile if both have it.
    std::vector<Function> descriptions;
    std::array<std::vector<Piece>, 2> pieces;
    std::array<std::uint32_t, 2> clusters{}, threads{}, runs{1, 1};
    bool of_one_run = false;                         // both sides are, so runs do not differ
    std::array<std::vector<double>, 2> seconds;      // of each run
    std::array<std::vector<double>, 2> counted;      // of each run: units of work, if they are compared
    std::array<std::vector<double>, 2> wholes;       // of each cluster and thread: weight, or units of work
    double typical_variance = 0;                     // compare/clusters.hpp
    double widening = 1;                             // of a box, as of functions in the median
    std::vector<std::array<double, 2>> widening_of;  // of each function: of its own, of its total
    std::shared_ptr<const DiffSums> sums;            // of all counts
    std::shared_ptr<const DiffAnswer> answer;        // once answer_of() has found it

    Change change(std::uint64_t before_weight, std::uint64_t after_weight, double before_variance,
                  double after_variance, double wider) const {
        const std::uint64_t larger = std::max(weight_before, weight_after);
        return Change({before_weight, by_amount ? larger : weight_before, before_variance, all_variance_before},
                      {after_weight, by_amount ? larger : weight_after, after_variance, all_variance_after}, by_amount,
                      wider);
    }
};

/// What is compared: "" for the unit of work that both sides counted, else shares; "share", "second", "run", or a unit.
using Measure = std::string;

/// Several runs as one side, or a run whose times are known (NamedProfile::times).
DiffSide diff_side(std::vector<NamedProfile> runs);

/// An Error if either has no samples, or, where amounts are compared, both.
Result<ProfileDiff> diff_sides(DiffSide before, DiffSide after, const Measure& measure = {});
Result<ProfileDiff> diff_profiles(NamedProfile before, NamedProfile after);

/// Sums of both sides over the stacks of a function: those that end in it, and those it is in.
struct FunctionSums {
    std::uint64_t self_before = 0, self_after = 0, total_before = 0, total_after = 0;
    double self_variance_before = 0, self_variance_after = 0, total_variance_before = 0, total_variance_after = 0;
};

/// The sums of all functions over the counts that are left, and how much clusters widen them. `diff` is the same in all
/// calls.
class DiffSums {
public:
    explicit DiffSums(const ProfileDiff& diff);
    /// Leaves a count out, for which all sums lose what it adds: a search need not add up all stacks again.
    void remove(const ProfileDiff& diff, std::uint32_t count) { add(diff, count, -1); }
    const std::vector<FunctionSums>& sums() const { return sums_; }
    /// Of all that is left.
    const FunctionSums& all() const { return all_; }
    Spread spread(const ProfileDiff& diff, FunctionId function, bool total) const;
    double widening(const ProfileDiff& diff, FunctionId function, bool total) const;
    /// Of all that is left, where amounts are compared.
    double widening_of_all(const ProfileDiff& diff) const;

private:
    using Rows = std::array<std::vector<double>, 2>;  // by side: function * width + cluster or thread
    void add(const ProfileDiff& diff, std::uint32_t count, int times);
    void add_clusters(const ProfileDiff& diff, std::uint32_t count, FunctionId function, int times, Rows& rows);

    std::vector<FunctionSums> sums_;
    FunctionSums all_;
    Rows self_, total_;
    std::array<std::vector<double>, 2> weights_;       // of each cluster and thread
    std::array<std::vector<std::uint32_t>, 2> first_;  // of each count, its first piece
    std::vector<std::uint32_t> seen_;                  // of each function, the stack that counted it last
    std::uint32_t stacks_ = 0;
};

/// Fills ProfileDiff::sums, typical_variance, widening and widening_of.
void widen(ProfileDiff& diff);

struct FunctionChange {
    FunctionId function = 0;
    Change self, total;
};

/// The change of every function in either profile, in the order of function ids.
std::vector<FunctionChange> function_changes(const ProfileDiff& diff);

}  // namespace flameprobe
