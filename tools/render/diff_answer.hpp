// What a comparison says first: the few changes that explain all the others, and how small a change would be seen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "diff.hpp"

namespace flameprobe {

/// A function whose stacks changed. Those of findings before it are left out, so that what only shares a stack, or the
/// whole, with a larger change is no change of its own.
struct Finding {
    FunctionId function = 0;
    bool everything = false;          // all stacks; `function` means nothing
    Change change;                    // among what is left
    Change of_all;                    // among everything: what a reader sees in the picture
    std::vector<FunctionId> path;     // own code that leads to it in the stack that changed most, from the root
    std::vector<FunctionId> callers;  // all of them there
    std::string name, before, after, amount, where;  // in words
};

struct DiffAnswer {
    std::vector<Finding> findings;    // by how much they explain, the largest first
    std::string sentence;             // the first line
    std::vector<std::string> doubts;  // how many may be chance, what is too small to be seen, and what would show it
    std::uint64_t tested = 0;         // functions
    double rest = 0;                  // nothing else changed by more than this part of the whole (95 %)
    double seen = 0;                  // no change below this part would be seen
};

/// Leaves `diff` as it is.
DiffAnswer answer_of(ProfileDiff& diff);

/// How many findings grew by more than `part` of the whole, at the lower end of an interval of 99.9 %. What only takes
/// a larger share since something else shrank did not grow.
std::uint64_t count_grown(const DiffAnswer& answer, double part);

/// The sentence, then a line for each finding, then the doubts; whole lines. `width`: of the terminal, or 0.
std::string answer_text(const DiffAnswer& answer, std::size_t width);

}  // namespace flameprobe
