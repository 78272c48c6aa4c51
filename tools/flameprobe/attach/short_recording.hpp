// A recording for those who only look on: into a directory that goes away with it, whatever ends us.
#pragma once

#include <sys/types.h>

#include <optional>

#include "recorder.hpp"

namespace flameprobe {

/// If no profile of the process grows (profile_of_process), a recorder that makes one grow for as long as it lives. An
/// Error: there is none, and why there can be none.
Result<std::optional<Recorder>> record_for_now(pid_t pid);

}  // namespace flameprobe
