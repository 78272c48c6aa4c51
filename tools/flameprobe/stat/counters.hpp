// The kernel's counters of a command and all its descendants, by perf_event_open(2).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.hpp"

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
    /// The value so far, of the command and its descendants. `name` as perf calls it: cycles, instructions, task-clock,
    /// ...
    Reading read(const std::string& name) const;
    bool has(const std::string& name) const;

private:
    struct Counter {
        std::string name;
        bool hardware = false;
        Descriptor file;
        bool user_only = false;
        int error = 0;
    };
    std::vector<Counter> counters_;
};

}  // namespace flameprobe::counting
