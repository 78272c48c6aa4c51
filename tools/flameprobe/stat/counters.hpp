// The kernel's counters of a command and all its descendants, or of a process that runs, by perf_event_open(2).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.hpp"

namespace flameprobe {
struct EventName;
}

namespace flameprobe::counting {

struct Reading {
    std::optional<double> value;
    bool user_only = false;  // the kernel's part may not be counted by this user
    bool estimated = false;  // the hardware counter was shared with other events for a part of the time
    std::string why_not;     // one sentence, if there is no value
};

/// Events begin to count when the process becomes the command.
class EventCounters {
public:
    explicit EventCounters(pid_t pid);
    /// Only these events: with fewer events values are less often estimates.
    EventCounters(pid_t pid, const std::vector<std::string>& names);
    /// Counts from now on: these threads of a process, and those that they make.
    static EventCounters of_running(const std::vector<pid_t>& threads);
    /// The value so far, of the command and its descendants. `name` as perf calls it: cycles, instructions, task-clock,
    /// ...
    Reading read(const std::string& name) const;
    bool has(const std::string& name) const;

private:
    struct Counter {
        std::string name;
        bool hardware = false;
        std::vector<Descriptor> files;
        bool user_only = false;
        int error = 0;
    };
    EventCounters(const std::vector<pid_t>& threads, const std::vector<std::string>& names, bool running);
    static void open(Counter& counter, const EventName& event, pid_t thread, bool running);

    std::vector<Counter> counters_;
};

}  // namespace flameprobe::counting
