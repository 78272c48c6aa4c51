// Two profiles side by side: what grew, what shrank, what came and went, and what is chance.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// So many samples of all that were taken.
struct Share {
    std::uint64_t count = 0;
    std::uint64_t of = 0;

    double value() const { return of == 0 ? 0 : static_cast<double>(count) / static_cast<double>(of); }
};

/// From one share to another, in parts of one.
class Change {
public:
    Change(Share before, Share after) : before_(before), after_(after) {}

    Share before() const { return before_; }
    Share after() const { return after_; }
    double difference() const { return after_.value() - before_.value(); }
    /// Half the width of the interval in which 99.9 % of differences lie if nothing changed: samples are drawn at
    /// random, so a count is binomial, and both counts tell about the one share that they then have in common.
    double noise() const;
    bool is_noise() const;
    bool appeared() const { return before_.count == 0 && after_.count > 0 && !is_noise(); }
    bool vanished() const { return after_.count == 0 && before_.count > 0 && !is_noise(); }

private:
    Share before_, after_;
};

struct ProfileDiff {
    /// The stacks of both. Functions are equal if their names are: lines, paths and what is inlined differ from build
    /// to build. Weights are normalised: both sides weigh the same in all, so a box's width is the mean of its two
    /// shares.
    NamedProfile profile;
    std::vector<std::uint64_t> before, after;  // samples of each of profile's counts
    std::uint64_t samples_before = 0, samples_after = 0;
};

/// An Error if either has no samples.
Result<ProfileDiff> diff_profiles(NamedProfile before, NamedProfile after);

struct FunctionChange {
    FunctionId function = 0;
    Change self, total;
};

/// Of every function in either, in the order of function ids. `diff` is as before when it returns.
std::vector<FunctionChange> function_changes(ProfileDiff& diff);

}  // namespace flameprobe
