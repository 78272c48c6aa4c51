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

/// Whether a filter that the host is about to put on every thread (seccomp(2): SECCOMP_SET_MODE_FILTER with
/// SECCOMP_FILTER_FLAG_TSYNC) would kill for a system call of the collector. Tried in a child that enters it. True
/// where it cannot be tried; false for a filter that the kernel does not take.
bool filter_would_kill(const void* program, unsigned long flags);

/// Whether a handler of ours could return in a thread that enters the filter (seccomp(2): the program and the flags),
/// which needs rt_sigreturn(2). Tried in a child that enters it. False where it cannot be tried, or takes a second of
/// CPU time; true for a filter that the kernel does not take.
bool lets_handlers_return(const void* program, unsigned long flags);

}  // namespace flameprobe
