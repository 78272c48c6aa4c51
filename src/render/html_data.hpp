// A profile as data of the HTML page.
#pragma once

#include <string>

#include "base/result.hpp"
#include "render/flame_graph.hpp"
#include "render/palette.hpp"

namespace flameprobe {

/// Deflated and in base64, so that no name can end the HTML element that holds the data.
struct PageData {
    std::string facts;     // JSON: functions, threads, colours (assets/page/data.js reads it)
    std::string columns;   // the stacks (page_columns.hpp)
    double min_width = 0;  // percent; 0: every box is there
};

/// An Error if there are no samples, or if the stacks are too deep for a page. `sides`: of a comparison.
Result<PageData> page_data(const NamedProfile& profile, const Palette& palette, const FlameGraphOptions& options,
                           const PageSides* sides = nullptr);

}  // namespace flameprobe
