// Callers of hand-written and of run-time made code, to step through.
#pragma once

#include <span>

#include "subjects.hpp"

namespace flameprobe::testing {

/// Functions whose tables are complete, and functions without any, where the walk may give up but not be wrong.
std::span<const Subject> subjects_with_assembly_tables();
std::span<const Subject> subjects_without_tables();
/// Just-in-time code with frame pointers, in anonymous memory; call before reading /proc/self/maps.
std::span<const Subject> subjects_made_at_run_time();

}  // namespace flameprobe::testing
