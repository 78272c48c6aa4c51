// Which session is this process's: at load, in a forked child, and where the API begins another.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "session/session.hpp"

namespace flameprobe {

/// Null before the first. Async-signal-safe.
Session* current_session() noexcept;

/// Makes the first session of this process; sampling starts if the settings say so, or else `start_by_default`.
Outcome load_session(std::vector<std::string> settings, bool start_by_default);
/// In a forked child: makes a session of its own, with results of its own; sampling starts if the parent was sampled.
Outcome follow_fork();
/// Starts sampling, by another session if the settings, of which the last `given` are the caller's own, ask for
/// something else. Thread-safe.
Outcome start_session(std::vector<std::string> settings, std::size_t given);

}  // namespace flameprobe
