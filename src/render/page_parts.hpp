// What stands in an HTML page beside its data.
#pragma once

#include <string>

#include "base/result.hpp"
#include "render/flame_graph.hpp"
#include "render/palette.hpp"

namespace flameprobe {

/// The graph before the page's script has read the data: on paper, in a screenshot, and where no script runs.
struct Preview {
    std::string picture;  // an inline SVG element: boxes and labels without scripts and styles
    std::string legend;   // what its colours mean, for readers without scripts; empty where all are plain
};

/// `colored`: by role; else all are plain.
Result<Preview> preview_markup(const NamedProfile& profile, const Palette& palette, const FlameGraphOptions& options,
                               bool colored);

/// Which locks were waited for, how long, and what their holders did; empty if no holder is known.
std::string lock_markup(const NamedProfile& profile);

/// The processes of a run: CPU time, samples and their share. Empty if there is one process.
std::string process_rows(const NamedProfile& profile);

}  // namespace flameprobe
