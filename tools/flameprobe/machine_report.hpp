#pragma once

#include "report.hpp"

namespace flameprobe {

/// Which engine and unwinder would be used here and why, found by opening them as the library would. False if nothing
/// can be sampled.
bool report_machine(Report& report);

}  // namespace flameprobe
