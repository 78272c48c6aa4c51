#pragma once

#include <string>
#include <vector>

#include "arguments.hpp"
#include "base/result.hpp"
#include "diff.hpp"
#include "progress.hpp"

namespace flameprobe {

struct DiffNames {
    std::string before, after;  // what the two inputs are called
};

struct LoadedSides {
    std::vector<DiffSide> sides;  // before, after
    DiffNames names;
};

/// Both sides of the comparison that the arguments ask for, which refused_sides() does not refuse.
Result<LoadedSides> load_diff_sides(const Arguments& arguments);

/// One side of a comparison. Each input is a run of its own, whose spread is a measure of noise; but processes of one
/// run, in files of their own, are one.
Result<DiffSide> load_diff_side(const std::vector<std::string>& inputs, const Arguments& arguments, Progress& progress);

}  // namespace flameprobe
