#include "tree_clock.hpp"

#include <dirent.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/proc.hpp"

namespace flameprobe::bench {

namespace {

struct Stat {
    pid_t parent = 0, group = 0;
    std::uint64_t children_ticks = 0;
};

bool read_stat(pid_t pid, Stat& stat) {
    const auto text = read_small_file(("/proc/" + std::to_string(pid) + "/stat").c_str());
    if (!text) return false;
    // ppid, pgrp, cutime and cstime
    stat = {static_cast<pid_t>(stat_number(*text, 4)), static_cast<pid_t>(stat_number(*text, 5)),
            stat_number(*text, 16) + stat_number(*text, 17)};
    return true;
}

std::vector<pid_t> numbers_in(const std::string& directory) {
    std::vector<pid_t> numbers;
    const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), closedir);
    if (!open) return numbers;
    while (const dirent* entry = readdir(open.get())) {
        if (const int number = std::atoi(entry->d_name); number > 0) numbers.push_back(number);
    }
    return numbers;
}

std::uint64_t own_threads_ns(pid_t pid) {
    const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
    std::uint64_t sum = 0;
    for (const pid_t tid : numbers_in(tasks)) {
        const std::string task = tasks + "/" + std::to_string(tid);
        if (read_small_file((task + "/comm").c_str()).value_or("") != "flameprobe\n") continue;
        if (const auto schedule = read_schedule(task)) sum += schedule->cpu_ns;
    }
    return sum;
}

/// The CPU clock of another process, as the kernel encodes it: CPUCLOCK_SCHED of a whole process.
clockid_t process_cpu_clock(pid_t pid) { return static_cast<clockid_t>((~static_cast<clockid_t>(pid) << 3) | 2); }

}  // namespace

std::uint64_t tree_cpu_ns(pid_t root) {
    std::map<pid_t, Stat> all;
    for (const pid_t pid : numbers_in("/proc")) {
        if (Stat stat; read_stat(pid, stat)) all.emplace(pid, stat);
    }
    std::set<pid_t> tree{root};
    for (std::size_t before = 0; before != tree.size();) {
        before = tree.size();
        for (const auto& [pid, stat] : all) {
            if (tree.contains(stat.parent) || stat.group == root) tree.insert(pid);
        }
    }
    static const std::uint64_t tick_ns = 1'000'000'000 / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
    std::uint64_t sum = 0;
    for (const pid_t pid : tree) {
        const std::uint64_t used = read_clock(process_cpu_clock(pid)), ours = own_threads_ns(pid);
        sum += used > ours ? used - ours : 0;
        if (const auto found = all.find(pid); found != all.end()) sum += found->second.children_ticks * tick_ns;
    }
    return sum;
}

}  // namespace flameprobe::bench
