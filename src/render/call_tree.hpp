// The boxes of a picture: stacks merged by function, sorted by name, narrow ones gathered. Only boxes that will be
// drawn are expanded, so a million stacks cost two passes over their nodes and little else.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
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
    folded,    // stands for itself and for frames that are folded into it (fold_tree.hpp)
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
    bool gather_threads = false;      // more than four threads with like names are one box (thread_groups.hpp)
};

/// An Error if there are no samples, or if their weights do not fit in 64 bits.
Result<CallTree> build_call_tree(const NamedProfile& profile, const CallTreeOptions& options);

/// The profile's weight. An Error if there are no samples, or if they add up to more than 64 bits hold.
Result<std::uint64_t> weight_to_draw(const NamedProfile& profile);

}  // namespace flameprobe
