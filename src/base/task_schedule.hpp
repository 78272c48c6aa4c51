// What the scheduler counts for a thread (proc(5): /proc/PID/task/TID/schedstat and sched).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace flameprobe {

struct TaskSchedule {
    std::uint64_t cpu_ns = 0;    // on CPUs; up to a tick behind while the thread runs
    std::uint64_t delay_ns = 0;  // runnable, but without a CPU
    std::uint64_t slices = 0;    // how often it got a CPU: as long as it stays the same, the thread has not run
};

/// Of the text of a schedstat file; nullopt if it is none.
std::optional<TaskSchedule> parse_schedule(const char* text);

/// `task`: a thread's directory, such as "/proc/1/task/2". nullopt where the thread has ended, or the kernel counts
/// nothing (CONFIG_SCHED_INFO).
std::optional<TaskSchedule> read_schedule(const std::string& task);
/// How often the thread changed its CPU; nullopt where the kernel was built without CONFIG_SCHED_DEBUG.
std::optional<std::uint64_t> read_migrations(const std::string& task);

}  // namespace flameprobe
