// The HTML page of a program that still runs: it asks its server for the data, and again when there is more.
#pragma once

#include <string>

#include "base/result.hpp"
#include "render/flame_graph.hpp"

namespace flameprobe {

/// The page without data. It gets "data" from beside its own address.
std::string live_page();

/// What is to be answered to "data": title, subtitle, how it was measured, and the profile as in a page that stands
/// alone. An Error as long as there are no samples.
Result<std::string> live_page_data(const NamedProfile& profile, const FlameGraphOptions& options, bool running);

}  // namespace flameprobe
