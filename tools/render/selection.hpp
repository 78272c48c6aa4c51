// Which samples of an input are wanted, in words, and which of them for each side of a comparison.
#pragma once

#include <array>
#include <string>

#include "arguments.hpp"
#include "base/result.hpp"

namespace flameprobe {

/// "thread worker, from 1.5 s on"; empty: all. Without what is cut out of stacks.
std::string selection_words(const Arguments& arguments);

struct SelectedSide {
    Arguments arguments;  // with the one input of this side
    std::string words;    // what of it: "thread worker", "all but thread worker"; empty: all
};

/// The sides of --diff. Options that choose samples and stand twice are for one side each; of one input they are
/// compared with the rest where they stand once.
std::array<SelectedSide, 2> selected_sides(const Arguments& arguments);

/// Why these options choose no two sides; empty if they do.
std::string refused_sides(const Arguments& arguments);

}  // namespace flameprobe
