// The boxes of a picture: stacks merged by function, sorted by name, narrow ones gathered. Only boxes that will be
// drawn are expanded, so a million stacks cost two passes over their nodes and little else.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "render/role.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// The stacks to draw: those of the profile, or the shortened copy that `shorten_deep_stacks` made.
struct StackSet {
    std::span<const NamedNode> nodes;
    std::span<const NamedCount> counts;
};

/// A picture of a stack 10,000 frames deep would be taller than browsers can paint (32,767 pixels) or people can read.
struct ShortenedStacks {
    bool shortened = false;        // false: the rest is empty, use the profile's own
    std::vector<NamedNode> nodes;  // a frame id of profile.frames.size() stands for the frames left out
    std::vector<NamedCount> counts;
    std::uint32_t deepest = 0;  // frames of the deepest stack before
};

/// Of each stack with more than `most` frames, the first half and the last half of `most` are kept, with one frame
/// between them that stands for the rest. Equal beginnings stay merged, and so do equal ends after equal beginnings.
ShortenedStacks shorten_deep_stacks(const NamedProfile& profile, std::uint32_t most);

enum class BoxKind : std::uint8_t {
    all,  // the root: every sample
    function,
    gathered,  // siblings that are each narrower than the minimum, and all that is above them
    omitted,   // the middle of stacks that are too deep to draw
    folded,    // stands for itself and for frames that are folded into it (fold_rows())
    above,     // what is above the highest wide box
};

struct Box {
    std::uint32_t parent = 0;  // index of a box before this one; 0 for the root itself
    std::uint32_t depth = 0;   // the root is 0
    BoxKind kind = BoxKind::function;
    FunctionId function = 0;     // of BoxKind::function and BoxKind::folded
    std::uint32_t gathered = 0;  // how many frames, of gathered, folded and above
    std::uint64_t start = 0;     // weight to the left of it
    std::uint64_t total = 0;
    std::uint64_t self = 0;  // weight of samples that ended here; 0 in a gathered box
    std::uint64_t hits = 0;  // samples, whatever they weigh
    std::uint32_t row = 0;   // as it is drawn; the root's is 0
    bool hidden = false;     // folded into the box of its row below it
};

/// Boxes in depth-first order, children by name, so that a box's parent is the last one before it that is one level up.
struct CallTree {
    std::vector<Box> boxes;
    std::uint32_t depth = 0;                                  // the last row
    std::uint32_t deepest_stack = 0;                          // frames, before the middle was left out
    std::map<FunctionId, std::string> names;                  // of functions that stand for others, too: "worker-*"
    std::map<std::uint32_t, std::vector<FunctionId>> folded;  // of each such box, the functions that it leads through
};

struct CallTreeOptions {
    bool reverse = false;             // merge from the leaves: the functions that use the time, and their callers above
    double min_width = 0.1;           // percent of all weight; 0 or less: every box is kept
    std::uint32_t most_frames = 256;  // deeper stacks are shown without their middle
    bool by_weight = false;           // the heaviest siblings first, else by name
    bool gather_threads = false;      // threads with like names are one box (gather_threads())
};

/// An Error if there are no samples, or if their weights do not fit in 64 bits.
Result<CallTree> build_call_tree(const NamedProfile& profile, const CallTreeOptions& options);

/// The profile's weight. An Error if there are no samples, or if they add up to more than 64 bits hold.
Result<std::uint64_t> weight_to_draw(const NamedProfile& profile);

// What makes a picture lower than its stacks are deep: chains of frames that only lead on are one row, and so is the
// kernel below a call of it; narrow towers end where the wide ones do.

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
