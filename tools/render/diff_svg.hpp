#pragma once

#include <string>

#include "arguments.hpp"
#include "base/byte_sink.hpp"
#include "base/result.hpp"
#include "diff.hpp"
#include "diff_facts.hpp"
#include "render/flame_graph.hpp"

namespace flameprobe {

/// A flame graph of both: a box is as wide as the mean of its two shares, so what vanished is as visible as what
/// appeared. Orange grew, blue shrank (told apart by every eye), grey is within noise; signs are printed.
Result<void> write_diff_svg(ProfileDiff& diff, const DiffNames& names, SortBy by, const FlameGraphOptions& options,
                            const ByteSink& out);

}  // namespace flameprobe
