// The system calls that FlameProbe adds to a host's, and for which of them a filter in force would kill the process.
#pragma once

#include <initializer_list>
#include <span>

namespace flameprobe {

/// What the collector calls while it samples, and what an engine does besides.
extern const std::span<const long> calls_while_sampling, calls_of_engines;

/// Once, while the library is loaded and before any other call of ours: has a child make all calls of ours. Gives the
/// first that there is no profile without and that a filter kills for; 0: there is none. A filter that kills for
/// clone(2) cannot be found out.
long first_killed_call();

/// Whether what first_killed_call() tried kills for any of these. Makes no system call.
bool killed_at_load(std::initializer_list<long> system_calls) noexcept;

/// Whether a filter in force for the calling thread would kill for any of these. Tried in a child unless the filters
/// are those of the loading (/proc/thread-self/status; prctl(PR_GET_SECCOMP) might itself be what kills).
bool filter_kills_for(std::span<const long> system_calls);
/// Whether it would kill for one that there is no profile without.
bool filter_kills_for_ours();
inline bool filter_kills_for(std::initializer_list<long> system_calls) {
    return filter_kills_for(std::span(system_calls.begin(), system_calls.size()));
}

}  // namespace flameprobe
