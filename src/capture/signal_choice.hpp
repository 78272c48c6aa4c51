// Which signal the handler engines may use without taking one from the host.
#pragma once

#include <string>

#include "base/result.hpp"

namespace flameprobe {

/// SIGPROF, else SIGVTALRM, SIGSTKFLT, SIGPWR or a real-time signal from the top: one whose disposition is the default
/// (or already ours) and that no interval timer of the host sends; of these the one that the fewest threads block.
/// An Error where the host uses every one. Collector thread.
Result<int> choose_signal();

/// Installs the handler for `chosen`, or for choose_signal() if that is 0. The handler is never removed: a signal that
/// was on its way would meet the default action, which kills. So the code must never be unmapped.
Result<int> take_signal(int chosen = 0);

/// Does the host believe the disposition of `signal` to be the default? Asked through libc, so that a handler of our
/// own that only stands in for the default (preload/dispositions.cpp) does not count.
bool is_default_for_host(int signal);

/// Is our handler still installed for `signal`? A host may set its own past our interposition.
bool holds_signal(int signal);

/// `status`: the text of the thread's /proc/self/task/TID/status.
bool blocks_signal(const std::string& status, int signal);

}  // namespace flameprobe
