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
#include "base/number.hpp"
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

std::string name_of(pid_t pid) {
    std::string name = read_small_file(("/proc/" + std::to_string(pid) + "/comm").c_str()).value_or("");
    name.resize(std::min(name.find('\n'), name.size()));
    return name;
}

std::string line_of(const Process& process, std::uint64_t wall_ns) {
    const std::string stat = read_small_file(("/proc/" + std::to_string(process.pid) + "/stat").c_str()).value_or("");
    char numbers[64];
    std::snprintf(numbers, sizeof numbers, "%8d %7.1f %8llu  ", process.pid,
                  100.0 * static_cast<double>(process.cpu_ns) / static_cast<double>(wall_ns),
                  static_cast<unsigned long long>(stat_number(stat, 20)));
    return numbers + name_of(process.pid) + "\n";
}

}  // namespace

Result<pid_t> process_id(int arguments, char* const argv[]) {
    if (arguments != 1) return Error{"name one process, by its number or name"};
    const std::string_view given = argv[0];
    if (const auto pid = number_in<pid_t>(given); pid && *pid > 0) return *pid;
    constexpr std::size_t longest = 15, most_told = 10;  // bytes of a name (PR_SET_NAME(2const))
    std::vector<pid_t> found;
    for (const pid_t pid : numbers_in("/proc"))
        if (pid != ::getpid() && !given.empty() && name_of(pid) == given.substr(0, longest)) found.push_back(pid);
    if (found.size() == 1) return found.front();
    const std::string quoted = "'" + std::string(given) + "'";
    if (found.empty()) return Error{quoted + " is no process number, and no process has that name"};
    std::string list;
    for (std::size_t at = 0; at < std::min(found.size(), most_told); ++at)
        list += (at == 0 ? "" : ", ") + std::to_string(found[at]);
    return Error{std::to_string(found.size()) + " processes have the name " + quoted + ": " + list +
                 (found.size() > most_told ? " and more" : "") + "; name one by its number"};
}

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
