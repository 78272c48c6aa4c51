// The functions of an HTML page, in columns.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "render/page_columns.hpp"
#include "render/palette.hpp"

namespace flameprobe {

struct PageFunctions {
    PageNumbers numbers;
    std::uint32_t all = 0;  // the number of the root
};

/// Adds "functions", "files", "modules", "all", "narrow" and "merged" to `into`. Functions are numbered by name; then
/// come the root, gathered boxes and other boxes that are no function, and groups of threads with like names
/// ("worker-*").
PageFunctions add_functions(const NamedProfile& profile, const Palette& palette, nlohmann::ordered_json& into);

}  // namespace flameprobe
