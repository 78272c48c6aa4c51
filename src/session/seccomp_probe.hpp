// A seccomp filter may refuse a system call with an error, which we can live with, or kill the process for it, which
// its user would not forgive. Which of the two cannot be asked, only tried: in a child.
#pragma once

#include <initializer_list>

namespace flameprobe {

/// Whether a filter is in force for the calling thread (/proc/self/task/TID/status; prctl(PR_GET_SECCOMP) might itself
/// be what kills). Where /proc cannot be read: false.
bool seccomp_filters_us();

/// Whether a filter would kill for any of these system calls. Tried in a child, with arguments that can do nothing; the
/// child has no exit signal, so the host gets no SIGCHLD and wait(2) does not see it. False where no filter is in
/// force.
bool seccomp_kills_for(std::initializer_list<long> system_calls);

}  // namespace flameprobe
