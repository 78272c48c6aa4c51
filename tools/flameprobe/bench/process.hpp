// A program that runs in the background, in a process group of its own.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "bench_file.hpp"

namespace flameprobe::bench {

struct ProcessRequest {
    std::vector<std::string> command;
    std::map<std::string, std::string> environment;  // in addition to ours
    std::string directory;                           // empty: ours
    Descriptor output;                               // for standard output and error
    std::function<void(pid_t)> before_exec;  // if given, called in this process before the child executes the command
};

class Process {
public:
    static Result<Process> start(const ProcessRequest& request);
    Process(Process&& other) noexcept;
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    Process& operator=(Process&&) = delete;
    /// Kills the processes of the group that still run, if end() was not called.
    ~Process();

    pid_t pid() const { return pid_; }
    /// Waits until the process ends, `most` has passed or a signal interrupts us. True if it has ended.
    bool wait(Seconds most);
    bool running() { return !wait(Seconds(0)); }
    /// Sends `signal`, and SIGKILL to all of its group after `patience`. False if SIGKILL was needed.
    bool end(int signal, Seconds patience);

    /// Of the ended process: the status as waitpid(2) gives it, and the resources that it and the children it waited
    /// for used.
    int status() const { return status_; }
    const rusage& usage() const { return usage_; }

private:
    Process(pid_t pid, int pidfd) : pid_(pid), pidfd_(pidfd) {}
    void end_group();

    pid_t pid_ = -1;
    Descriptor pidfd_;
    bool ended_ = false;
    int status_ = 0;
    rusage usage_{};
};

// CPU time of a process and all its descendants.

/// Nanoseconds that the tree has used up to now: living processes by their CPU clocks, and the children they have
/// waited for by the kernel's ticks. Without the time of FlameProbe's own threads. A grandchild whose parent died
/// before it counts as long as it is in the root's process group.
std::uint64_t tree_cpu_ns(pid_t root);

// Interruption by Ctrl-C, SIGTERM or SIGHUP: the bench ends its programs in order, and keeps its measurements.

/// From here on SIGINT, SIGTERM and SIGHUP only set a flag; system calls that wait return EINTR.
void watch_for_interruption();
/// The signal that came, or 0.
int interruption() noexcept;

}  // namespace flameprobe::bench
