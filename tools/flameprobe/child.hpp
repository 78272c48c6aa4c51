#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace flameprobe {

/// A command that runs to its end. Signals that are sent to us are sent on to it; those of the terminal reach it
/// anyway, being in the same process group.
class Child {
public:
    using Environment = std::vector<std::pair<std::string, std::string>>;

    /// An Error where the command cannot be started; `status` is then what a shell would return (126 or 127).
    static Result<Child> start(char* const command[], const Environment& environment, int& status);

    pid_t pid() const { return pid_; }
    /// The wait status, as of waitpid(2).
    int wait();

private:
    explicit Child(pid_t pid) : pid_(pid) {}

    pid_t pid_;
};

/// Ends this process as the child ended: with its exit status, or by its signal.
int end_like(int wait_status);

}  // namespace flameprobe
