#pragma once

#include <string>
#include <vector>

#include "arguments.hpp"
#include "base/result.hpp"
#include "diff.hpp"
#include "progress.hpp"

namespace flameprobe {

/// One side of a comparison. Each input is a run of its own, whose spread is a measure of noise; but processes of one
/// run, in files of their own, are one.
Result<DiffSide> load_diff_side(const std::vector<std::string>& inputs, const Arguments& arguments, Progress& progress);

/// Gives threads and processes one name: where some are compared with others, theirs are no difference.
void call_roots_alike(NamedProfile& profile);

}  // namespace flameprobe
