// Figures from /proc of the threads of a running command.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace flameprobe::counting {

/// Of a file in /proc; empty if it cannot be read.
std::string text_of(const std::string& path);

struct ProcessSum {
    std::string name;
    std::size_t threads = 0;
    std::uint64_t cpu_ns = 0, run_queue_ns = 0;
    std::optional<std::uint64_t> migrations;
};

/// Reads the figures of all threads of the command and its children, again and again; a thread's last figures count.
/// Threads that began and ended between two readings are missing.
class Tasks {
public:
    /// `migrations`: read them as well, which takes longer.
    Tasks(pid_t root, bool migrations, bool children = true)
        : root_(root), migrations_(migrations), children_(children) {}
    void look();
    /// What the threads used before does not count. To be called after the first look.
    void begin() { before_ = tasks_; }

    /// By pid. Empty where /proc is not mounted, or has no schedstat.
    std::map<pid_t, ProcessSum> processes() const;

private:
    struct Task {
        std::uint64_t cpu_ns = 0, run_queue_ns = 0;
        std::optional<std::uint64_t> migrations;
    };

    void look_at(pid_t pid);
    void read_task(pid_t pid, pid_t tid);

    const pid_t root_;
    const bool migrations_, children_;
    std::set<pid_t> known_;
    std::map<pid_t, std::string> names_;
    std::map<std::pair<pid_t, pid_t>, Task> tasks_, before_;  // by pid and tid
};

}  // namespace flameprobe::counting
