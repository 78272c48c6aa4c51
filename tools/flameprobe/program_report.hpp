#pragma once

#include <string>

#include "report.hpp"

namespace flameprobe {

/// What a program and its libraries lack: symbols, debug information, unwind tables, a loader that preloads. False if
/// it cannot be profiled.
bool report_program(Report& report, const std::string& name);

}  // namespace flameprobe
