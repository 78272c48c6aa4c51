// The event `tasks`: what async tasks wait for, seen from outside (tools/flameprobe/attach/tasks).
#pragma once

#include "profile/model.hpp"

namespace flameprobe {

namespace event_name {
/// Weights are nanoseconds of each task.
inline constexpr std::string_view tasks = "tasks";
}  // namespace event_name

/// Whether weights are time that passed, for threads or for tasks: not CPU time, whose samples are counted.
inline bool counts_passed_time(const RunInfo& run) { return counts_waiting(run) || run.event == event_name::tasks; }

}  // namespace flameprobe
