#pragma once

#include "base/byte_sink.hpp"
#include "diff_facts.hpp"
#include "render/flame_graph.hpp"

namespace flameprobe {

/// A page with both profiles: each for itself, their difference, and a table of what changed. `table` is that table as
/// text, for readers without JavaScript.
Result<void> write_diff_html(ProfileDiff& diff, const DiffNames& names, SortBy by, const std::string& table,
                             const FlameGraphOptions& options, const ByteSink& out);

}  // namespace flameprobe
