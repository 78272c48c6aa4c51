// Which few changes explain all the others.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "diff.hpp"

namespace flameprobe {

/// Stacks that changed. Those of findings before it are left out, so that what only shares a stack, or the whole, with
/// a larger change is no change of its own.
struct Found {
    FunctionId function = 0;
    bool everything = false;  // all stacks; `function` means nothing
    bool own_code = false;    // only the stacks that end in the function
    bool is_rest = false;     // a finding before it has a part of its stacks
    Change change;            // among what is left
    Change of_all;            // the same as parts of everything; of what only moved, all of it
    /// By how much it grew if nothing else did, in parts of everything before; at least by that much (99.9 %).
    /// Negative: it shrank.
    double growth = 0, least_growth = 0;
    /// What may have shrunk instead, which shares alone cannot tell.
    std::optional<FunctionId> or_shrank;
    std::vector<FunctionId> path;     // own code that leads to it in the stack that changed most, from the root
    std::vector<FunctionId> callers;  // all of them there
};

struct DiffSearch {
    std::vector<Found> found;  // by how much they explain, the largest first
    std::uint64_t tested = 0;  // functions
    double rest = 0;           // nothing else changed by more than this part of the whole (95 %)
    double seen = 0;           // a change of this part of the whole is found in 19 of 20 cases
    /// What has most of the whole, and from which change of it on it is found: of what is rare beside it little is
    /// known.
    std::optional<FunctionId> dominant;
    double dominant_seen = 0;
    std::array<double, 2> interrupts{};  // before, after: the part of the whole in which nothing was searched
};

/// Leaves `diff` as it is.
DiffSearch search_changes(ProfileDiff& diff);

}  // namespace flameprobe
