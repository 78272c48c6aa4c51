// A child that waits at the first instruction of the program that it executes.
#pragma once

#include <sys/types.h>

namespace flameprobe {

/// Seizes a child (ptrace(2), PTRACE_SEIZE) that is about to execute a program, and lets it go at its own end. The
/// child gets no signal for it. Where it may not be seized, it does not wait.
class ExecPause {
public:
    /// Before the child executes. To be used by this thread only, as ptrace asks for.
    explicit ExecPause(pid_t pid);
    ExecPause(const ExecPause&) = delete;
    ExecPause& operator=(const ExecPause&) = delete;
    ~ExecPause();
    /// Returns when it has executed, or ended: true if it waits. Signals that come before are its own.
    bool reached();

private:
    pid_t pid_;
    bool seized_;
};

}  // namespace flameprobe
