// A comparison as a picture: a flame graph of both, and a page.
#pragma once

#include <string>

#include "arguments.hpp"
#include "base/result.hpp"
#include "diff.hpp"
#include "outside/byte_stream.hpp"
#include "render/flame_graph.hpp"

namespace flameprobe {

struct DiffNames {
    std::string before, after;  // what the two inputs are called
};

/// A flame graph of both: a box is as wide as the mean of its two shares, so vanished functions are as visible as new
/// ones. Orange grew, blue shrank (colours that the colour-blind can tell apart), grey is within noise; signs are
/// printed.
Result<void> write_diff_svg(ProfileDiff& diff, const DiffNames& names, SortBy by, const FlameGraphOptions& options,
                            const ByteSink& out);

/// A page with both profiles: each for itself, their difference, and a table of what changed. `table` is that table as
/// text, for readers without JavaScript.
Result<void> write_diff_html(ProfileDiff& diff, const DiffNames& names, SortBy by, const std::string& table,
                             const FlameGraphOptions& options, const ByteSink& out);

}  // namespace flameprobe
