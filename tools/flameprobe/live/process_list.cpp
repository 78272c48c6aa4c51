#include "process_list.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <thread>
#include <vector>

#include "../attach/refusal.hpp"
#include "base/clock.hpp"
#include "base/proc.hpp"

namespace flameprobe {

namespace {

struct Process {
    pid_t pid;
    std::uint64_t cpu_ns;
};

std::map<pid_t, std::uint64_t> clocks_of_all() {
    std::map<pid_t, std::uint64_t> clocks;
    for (const pid_t pid : numbers_in("/proc"))
        if (pid != ::getpid()) clocks[pid] = read_clock(process_cpu_clock(static_cast<std::uint32_t>(pid)));
    return clocks;
}

std::string line_of(const Process& process, std::uint64_t wall_ns) {
    const std::string directory = "/proc/" + std::to_string(process.pid);
    const auto stat = read_small_file((directory + "/stat").c_str()).value_or("");
    std::string name = read_small_file((directory + "/comm").c_str()).value_or("");
    name.resize(std::min(name.find('\n'), name.size()));
    char numbers[64];
    std::snprintf(numbers, sizeof numbers, "%8d %7.1f %8llu  ", process.pid,
                  100.0 * static_cast<double>(process.cpu_ns) / static_cast<double>(wall_ns),
                  static_cast<unsigned long long>(stat_number(stat, 20)));
    return numbers + name + "\n";
}

}  // namespace

std::string busy_processes() {
    constexpr std::size_t most = 20;
    const std::uint64_t began = monotonic_ns();
    const auto before = clocks_of_all();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const auto after = clocks_of_all();
    const std::uint64_t wall_ns = monotonic_ns() - began;
    std::vector<Process> busy;
    for (const auto& [pid, cpu_ns] : after) {
        const auto known = before.find(pid);
        if (known != before.end() && cpu_ns > known->second) busy.push_back({pid, cpu_ns - known->second});
    }
    std::stable_sort(busy.begin(), busy.end(), [](const Process& a, const Process& b) { return a.cpu_ns > b.cpu_ns; });
    std::string table = "     PID   CPU %  THREADS  NAME\n";
    std::size_t shown = 0;
    for (const Process& process : busy) {
        if (shown == most) break;
        if (!why_not_attached(process.pid, true).empty()) continue;
        table += line_of(process, wall_ns);
        ++shown;
    }
    return table;
}

}  // namespace flameprobe
