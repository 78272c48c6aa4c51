// What the host's surroundings forbid the collector: a filter of system calls (seccomp), the limit of open files, files
// and names that it shares with the host. A filter may refuse a call with an error, which we can live with, or kill the
// process for it, which its user would not forgive.
#pragma once

#include <atomic>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace flameprobe {

/// Whether the host's threads may be in a filter that kills for any system call it does not know. From then on nothing
/// of ours makes one in them: they ask the collector through memory alone, and wait for it spinning. Inherited by
/// forked children, as the filter is. Set before the filter is entered, and never reset.
inline constinit std::atomic<bool> host_is_filtered{false};

/// Whether a filter that the host is about to enter (seccomp(2): SECCOMP_SET_MODE_FILTER) is for all its threads, the
/// collector's too, and would kill for a system call of the collector. Tried in a child that enters it. True where it
/// cannot be tried; false for a filter that the kernel does not take.
bool filter_for_all_would_kill(const void* program, unsigned long flags);

/// Whether a handler of ours could return in a thread that enters the filter (seccomp(2): the program and the flags),
/// which needs rt_sigreturn(2). Tried in a child that enters it. False where it cannot be tried, or takes a second of
/// CPU time; true for a filter that the kernel does not take.
bool lets_handlers_return(const void* program, unsigned long flags);

/// Gives the calling thread a descriptor table, working directory, root and umask of its own (unshare(2): CLONE_FILES,
/// CLONE_FS; no privilege is needed). The directory is the root, so that the host may unmount where it was. What it
/// opens, the host can neither see nor close nor run out of, and the host's chdir, chroot and umask do not move its
/// files. The new table is empty but for /dev/null as 0, 1 and 2, so nothing of the host's is held open: a pipe whose
/// last writer closes still ends. Gives false where the kernel refuses both close_range and unshare: then the table
/// stays shared. Where it refuses only a file system state of our own, working directory and umask stay the host's.
bool isolate_this_thread();

// The system calls that FlameProbe adds to a host's, and for which of them a filter in force would kill the process.

/// What the collector calls while it samples, and what an engine does besides.
extern const std::span<const long> calls_while_sampling, calls_of_engines;

/// Once, while the library is loaded and before any other call of ours: has a child make all calls of ours. Gives the
/// first that there is no profile without and that a filter kills for; 0: there is none. A filter that kills for
/// clone(2) cannot be found out.
long first_killed_call();

/// Whether what first_killed_call() tried kills for any of these. Makes no system call.
bool killed_at_load(std::initializer_list<long> system_calls) noexcept;

/// To be called by a thread of ours that the main thread has made, and so has at most that one's filters: they are
/// looked for there first, see collector_is_thread.
void has_filters_of_main_thread() noexcept;

/// Whether a filter in force for the calling thread would kill for any of these. Tried in a child unless the filters
/// are those of the loading (/proc/thread-self/status; prctl(PR_GET_SECCOMP) might itself be what kills).
bool filter_kills_for(std::span<const long> system_calls);
/// Whether it would kill for one that there is no profile without.
bool filter_kills_for_ours();
inline bool filter_kills_for(std::initializer_list<long> system_calls) {
    return filter_kills_for(std::span(system_calls.begin(), system_calls.size()));
}

/// What users are told of a filter.
namespace filter_text {
inline std::string would_kill_for(std::string_view call) {
    return "a seccomp filter would kill the process for " + std::string(call);
}
inline constexpr const char* no_program = "a seccomp filter lets no program be started";
inline constexpr const char* ended =
    "sampling ended where the program put all its threads into a seccomp filter that kills for system calls of the "
    "collector";
inline constexpr const char* no_return =
    "sampling ended where the program entered a seccomp filter in which no signal handler can return (rt_sigreturn): "
    "FLAMEPROBE_ENGINE=ring needs none";
}  // namespace filter_text

}  // namespace flameprobe
