// What makes a picture lower than its stacks are deep: chains of frames that only lead on are one row, and narrow
// towers end where the wide ones do.
#pragma once

#include <vector>

#include "render/call_tree.hpp"
#include "render/role.hpp"

namespace flameprobe {

/// A chain of so many boxes is not worth a click.
constexpr std::size_t longest_chain = 5;
/// Own code is in sight where a chain has one such box or none in so many: among many others it is the answer.
constexpr std::size_t rare_own = 8;
/// In others' code so much of a chain's width, in percent, may leave it on the way.
constexpr double most_leaving = 1;
/// Whether it is others' code, of which a step less tells as much.
constexpr bool is_others(Role role) { return role == Role::library || role == Role::glue || role == Role::kernel; }
/// Whether frames of this kind only lead on where they have one callee. Threads, scopes and notes say something.
bool may_be_folded(FrameKind kind);

/// More than `longest_chain` boxes of one width, each the only one above the other, are one but for the last:
/// BoxKind::folded. A chain ends at a box of own code, if these are rare in it.
/// roles: of each function. nearly: `most_leaving` holds too, and what leaves stands on the folded box. The page does
/// that with what its reader has selected (assets/page/lazy_tree.js), and has the rules above from here.
void fold_chains(CallTree& tree, const NamedProfile& profile, const std::vector<Role>& roles, bool nearly);

/// The boxes above the last row that has one of `percent` of the width or more, and `of_row` in all of its boxes, are
/// gathered, a box for each caller (BoxKind::above), if that makes the picture three rows lower or more.
void cut_towers(CallTree& tree, double percent, double of_row = 0);

}  // namespace flameprobe
