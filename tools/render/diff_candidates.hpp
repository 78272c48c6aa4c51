// What may explain how two profiles differ: stacks of a function, and those that end in it.
#pragma once

#include <vector>

#include "diff.hpp"

namespace flameprobe {

inline constexpr double most_share = 0.9999;

/// By how much a part grew, if it was `before` of the whole, is `after` of it, and nothing else changed.
double growth_of(double before, double after);

struct Candidate {
    FunctionId function = 0;
    bool everything = false, own_code = false;
    double score = 0;  // how much it explains
    Change change;     // shares of what is left, or amounts as they are

    double both() const { return change.before().value() + change.after().value(); }
    double growth(bool amounts) const {
        return amounts ? change.difference() : growth_of(change.before().value(), change.after().value());
    }
};

/// Of what is left, which `sums` are of. Threads are none, nor is what is rarer than 5 of 1,000.
std::vector<Candidate> candidates_of(const ProfileDiff& diff, const DiffSums& sums);

}  // namespace flameprobe
