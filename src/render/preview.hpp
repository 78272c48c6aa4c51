// The graph as it stands in an HTML page before the page's script has read the data: on paper, in a screenshot, and
// where no script runs.
#pragma once

#include <string>

#include "base/result.hpp"
#include "render/flame_graph.hpp"
#include "render/palette.hpp"

namespace flameprobe {

struct Preview {
    std::string picture;  // an inline SVG element: boxes and labels without scripts and styles
    std::string legend;   // what its colours mean, for readers without scripts; empty where all are plain
};

/// `colored`: by role; else all are plain.
Result<Preview> preview_markup(const NamedProfile& profile, const Palette& palette, const FlameGraphOptions& options,
                               bool colored);

}  // namespace flameprobe
