// What the host used beside CPU time, as the kernel counts it: page faults, memory, and what the scheduler did with its
// threads.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "profile/blocked_calls.hpp"

namespace flameprobe {

struct Usage {
    std::uint64_t minor_faults = 0, major_faults = 0;
    std::uint64_t peak_bytes = 0;  // resident; 0: not known
};

/// Of the host, since it began; nullopt where /proc does not give it. Takes some 30 us.
std::optional<Usage> read_usage();

/// Of a thread, since it began.
struct ThreadScheduling {
    std::uint64_t run_queue_ns = 0;           // runnable, but without a CPU
    std::optional<std::uint64_t> migrations;  // nullopt where the kernel was built without CONFIG_SCHED_DEBUG
};

/// nullopt where the thread has ended, or /proc does not give it.
std::optional<ThreadScheduling> read_scheduling(std::uint32_t tid);

/// The sum over threads, of as much as was seen: what a thread did between the last look at it and its end is missing.
/// The collector thread only.
class SchedulingAccount {
public:
    /// What threads did before does not count.
    void begin(const std::vector<std::uint32_t>& tids);
    /// Looks at `most` of the threads, in turn.
    void look(std::vector<std::uint32_t> tids, std::size_t most);
    void add_to(Counters& counters) const;

private:
    struct Known {
        ThreadScheduling last;
        bool looked_at = false;  // else `last` is not known yet
    };
    void look_at(std::uint32_t tid);

    std::unordered_map<std::uint32_t, Known> known_;
    std::uint32_t last_tid_ = 0;  // looked at last
    bool has_looked_ = false;
    ThreadScheduling sum_;
};

/// What was used while sampling was on. The collector thread only.
class UsageAccount {
public:
    void begin(std::uint64_t now_ns);
    /// Reads once a second, or at once if `at_the_end`. Once the host has ended the last reading stays.
    void read(std::uint64_t now_ns, bool at_the_end);
    void add_to(Counters& counters) const;

private:
    std::optional<Usage> last_;
    std::uint64_t read_ns_ = 0;
    Usage sum_;
    SchedulingAccount scheduling_;
};

}  // namespace flameprobe
