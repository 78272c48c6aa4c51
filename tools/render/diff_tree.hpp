#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "diff.hpp"
#include "render/call_tree.hpp"

namespace flameprobe {

struct BoxShares {
    std::uint64_t before = 0, after = 0;            // samples in the box
    std::uint64_t self_before = 0, self_after = 0;  // that end in it
};

/// The boxes of both profiles together, and for each box what either has in it.
struct DiffTree {
    CallTree tree;
    std::vector<BoxShares> shares;
};

/// Shortens the stacks in `diff.profile` that are too deep to draw.
Result<DiffTree> build_diff_tree(ProfileDiff& diff, bool reverse, double min_width);

}  // namespace flameprobe
