#pragma once

#include <string.h>
#include <sys/wait.h>

#include <string>

namespace flameprobe {

/// How a process ended, in words; `wait_status` as of waitpid(2).
inline std::string status_text(int wait_status) {
    if (WIFEXITED(wait_status)) return "exit status " + std::to_string(WEXITSTATUS(wait_status));
    const char* name = sigabbrev_np(WTERMSIG(wait_status));
    return "killed by " +
           (name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(WTERMSIG(wait_status)));
}

}  // namespace flameprobe
