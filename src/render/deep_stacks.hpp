// A picture of a stack 10,000 frames deep would be taller than browsers can paint (32,767 pixels) or people can read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// The stacks to draw: those of the profile, or the shortened copy that `shorten_deep_stacks` made.
struct StackSet {
    std::span<const NamedNode> nodes;
    std::span<const NamedCount> counts;
};

struct ShortenedStacks {
    bool shortened = false;        // false: the rest is empty, use the profile's own
    std::vector<NamedNode> nodes;  // a frame id of profile.frames.size() stands for the frames left out
    std::vector<NamedCount> counts;
    std::uint32_t deepest = 0;  // frames of the deepest stack before
};

/// Of each stack with more than `most` frames, the first half and the last half of `most` are kept, with one frame
/// between them that stands for the rest. Equal beginnings stay merged, and so do equal ends after equal beginnings.
ShortenedStacks shorten_deep_stacks(const NamedProfile& profile, std::uint32_t most);

}  // namespace flameprobe
