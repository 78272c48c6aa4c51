// Starts a program in a child process, and finds out whether it could be executed.
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace flameprobe {

struct Launched {
    pid_t pid;
    int error;  // errno of the failed exec, after which the child is gone; 0: the program runs
};

/// Forks. In the child `execute()` runs after `before_exec(pid)` has returned in this process; it returns only if it
/// could not execute the program, with errno set. An Error if there can be no child.
template <class Execute, class BeforeExec>
Result<Launched> launch(const Execute& execute, const BeforeExec& before_exec) {
    int report[2], ready[2];
    if (pipe2(report, O_CLOEXEC) != 0) return Error{"no pipe: " + error_text(errno)};
    const Descriptor from(report[0]);
    Descriptor to(report[1]);
    if (pipe2(ready, O_CLOEXEC) != 0) return Error{"no pipe: " + error_text(errno)};
    const Descriptor waits(ready[0]);
    Descriptor go(ready[1]);
    const pid_t pid = fork();
    if (pid < 0) return Error{"no process: " + error_text(errno)};
    if (pid == 0) {
        go.reset();
        char byte = 0;
        while (read(waits.get(), &byte, 1) < 0 && errno == EINTR) {  // until the parent closes its end
        }
        execute();
        const int error = errno;
        [[maybe_unused]] const ssize_t written = write(to.get(), &error, sizeof error);
        _exit(127);
    }
    to.reset();
    before_exec(pid);
    go.reset();
    int error = 0;
    ssize_t got = 0;
    do got = read(from.get(), &error, sizeof error);
    while (got < 0 && errno == EINTR);
    if (got != sizeof error) return Launched{pid, 0};
    waitpid(pid, nullptr, 0);
    return Launched{pid, error};
}

}  // namespace flameprobe
