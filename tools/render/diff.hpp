// Compares two profiles: which shares grew or shrank, which functions are new or gone, and what is noise.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
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

/// From one share to another, in parts of one. `by_amount`: both are parts of the same whole.
class Change {
public:
    Change(Share before, Share after, bool by_amount = false) : before_(before), after_(after), by_amount_(by_amount) {}

    Share before() const { return before_; }
    Share after() const { return after_; }
    double difference() const { return after_.value() - before_.value(); }
    /// Half the width of the interval in which 99.9 % of differences lie if nothing changed: samples are drawn at
    /// random, and both sides estimate the same.
    double noise() const;
    bool is_noise() const;
    bool appeared() const { return before_.count == 0 && after_.count > 0 && !is_noise(); }
    bool vanished() const { return after_.count == 0 && before_.count > 0 && !is_noise(); }

private:
    Share before_, after_;
    bool by_amount_;
};

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
    /// shrink where something else grows.
    bool by_amount = false;
    std::uint64_t samples_before = 0, samples_after = 0;  // hits
    double all_variance_before = 0, all_variance_after = 0;
    std::array<bool, 2> is_time{};        // before, after: whether weights are nanoseconds
    std::array<double, 2> matched{1, 1};  // before, after: the part whose function, thread and process both have
    std::vector<std::string> remarks;     // what was taken for one although its names differ
    std::string left_out;                 // a sentence on what is not compared; empty if all is
    /// The description of each of profile's functions, for colours and places: from the later profile if both have it.
    std::vector<Function> descriptions;

    Change change(std::uint64_t before_weight, std::uint64_t after_weight, double before_variance,
                  double after_variance) const {
        const std::uint64_t larger = std::max(weight_before, weight_after);
        return Change({before_weight, by_amount ? larger : weight_before, before_variance, all_variance_before},
                      {after_weight, by_amount ? larger : weight_after, after_variance, all_variance_after}, by_amount);
    }
};

/// An Error if either has no samples, or, where amounts are compared, both.
Result<ProfileDiff> diff_profiles(NamedProfile before, NamedProfile after);

struct FunctionChange {
    FunctionId function = 0;
    Change self, total;
};

/// The change of every function in either profile, in the order of function ids.
std::vector<FunctionChange> function_changes(const ProfileDiff& diff);

}  // namespace flameprobe
