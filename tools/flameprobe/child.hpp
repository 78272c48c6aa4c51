#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace flameprobe {

/// Runs a command to its end. Signals sent to us are sent on to it; those of the terminal reach it anyway, since it is
/// in the same process group.
class Child {
public:
    using Environment = std::vector<std::pair<std::string, std::string>>;

    /// An Error where the command cannot be started; `status` is then what a shell would return (126 or 127).
    /// `before_exec`, if given, is called here with the child's pid while the child waits to become the command.
    static Result<Child> start(char* const command[], const Environment& environment, int& status,
                               const std::function<void(pid_t)>& before_exec = {});

    pid_t pid() const { return pid_; }
    /// The wait status, as of waitpid(2).
    int wait() { return wait({}); }
    /// Calls `look` twenty times a second, and once more when the child has ended but its entries in /proc still exist.
    int wait(const std::function<void()>& look);
    /// After wait(): the resources that the command used, with the children it waited for.
    const rusage& usage() const { return usage_; }

private:
    explicit Child(pid_t pid) : pid_(pid) {}

    pid_t pid_;
    rusage usage_{};
};

/// Ends this process as the child ended: with its exit status, or by its signal.
int end_like(int wait_status);

}  // namespace flameprobe
