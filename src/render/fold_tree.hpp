// What makes a picture lower than its stacks are deep: chains of frames that only lead on are one row, and so is the
// kernel below a call of it; narrow towers end where the wide ones do.
#pragma once

#include <vector>

#include "render/call_tree.hpp"
#include "render/role.hpp"

namespace flameprobe {

/// A chain of so many boxes is not worth a click, nor are so many rows of the kernel.
constexpr std::size_t longest_chain = 5;
/// Own code is in sight where a chain has one such box or none in so many: among many others it is the answer.
constexpr std::size_t rare_own = 8;
/// In others' code so much of a chain's width, in percent, may leave it on the way.
constexpr double most_leaving = 1;
/// The kernel's row is named after the last function on its heaviest path that has so much of it, in percent. The first
/// frames say only that it was entered, so on them half of it is enough.
constexpr double least_naming = 80;
constexpr std::size_t entering = 2;
/// Whether it is others' code, of which a step less tells as much.
constexpr bool is_others(Role role) { return role == Role::library || role == Role::glue; }
/// Whether frames of this kind only lead on where they have one callee. Threads, scopes and notes say something.
bool may_be_folded(FrameKind kind);

/// More than `longest_chain` boxes, each with all of the other's width or nearly, are one row but for the last: the
/// first becomes BoxKind::folded, the others are hidden, and what leaves on the way stands on it. A chain ends at a box
/// of own code, if these are rare in it. All that stands on a frame of the kernel, its caller being none, is hidden
/// likewise, if it has more rows and is the kernel's.
/// roles: of each function. The page does the same with what its reader has selected (assets/page/lazy_tree.js), and
/// has the rules above from here.
void fold_rows(CallTree& tree, const NamedProfile& profile, const std::vector<Role>& roles);

/// The boxes above the last row that has one of `percent` of the width or more, and `of_row` in all of its boxes, are
/// gathered, a box for each caller (BoxKind::above), if that makes the picture three rows lower or more.
void cut_towers(CallTree& tree, double percent, double of_row = 0);

}  // namespace flameprobe
