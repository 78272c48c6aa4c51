#pragma once

#include <string>

#include "report.hpp"

namespace flameprobe::bench {

/// Throughput over the variable, with intervals and both fitted laws, as a small SVG for an HTML page.
std::string scaling_chart(const ScalingReport& scaling, const std::string& unit);

}  // namespace flameprobe::bench
