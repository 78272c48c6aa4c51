#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "diff.hpp"
#include "render/call_tree.hpp"

namespace flameprobe {

/// Weight of both sides, and its variance (Share).
struct BothWeights {
    std::uint64_t before = 0, after = 0;
    double variance_before = 0, variance_after = 0;

    void operator+=(const BothWeights& other) {
        before += other.before, after += other.after;
        variance_before += other.variance_before, variance_after += other.variance_after;
    }
};

struct BoxShares {
    BothWeights total;  // of the samples in the box
    BothWeights self;   // of those that end in it
};

/// The boxes of both profiles together, and for each box the weight of either.
struct DiffTree {
    CallTree tree;
    std::vector<BoxShares> shares;
};

/// Shortens the stacks in `diff.profile` that are too deep to draw.
Result<DiffTree> build_diff_tree(ProfileDiff& diff, bool reverse, double min_width);

}  // namespace flameprobe
