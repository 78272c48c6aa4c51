// What makes a picture lower than its stacks are deep: chains of frames that only lead on are one row, and narrow
// towers end where the wide ones do.
#pragma once

#include "render/call_tree.hpp"

namespace flameprobe {

/// More than five boxes of one width, each the only one above the other, are one but for the last: BoxKind::folded.
/// Threads, scopes and notes stay.
void fold_chains(CallTree& tree, const NamedProfile& profile);

/// The boxes above the last row that has one of `percent` of the width or more are gathered, a box for each caller
/// (BoxKind::above), if that makes the picture three rows lower or more.
void cut_towers(CallTree& tree, double percent);

}  // namespace flameprobe
