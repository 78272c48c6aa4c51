#include "tasks.hpp"

#include <cstdlib>
#include <sstream>
#include <vector>

#include "base/proc.hpp"

namespace flameprobe::counting {

namespace {

std::string proc_path(pid_t pid) { return "/proc/" + std::to_string(pid); }

/// How often a thread changed its CPU; nullopt where the kernel was built without CONFIG_SCHED_DEBUG.
std::optional<std::uint64_t> read_migrations(const std::string& task) {
    const std::string text = text_of(task + "/sched");
    const std::size_t key = text.find("nr_migrations"), colon = text.find(':', key);
    if (key == text.npos || colon == text.npos) return std::nullopt;
    return std::strtoull(text.c_str() + colon + 1, nullptr, 10);
}

}  // namespace

std::string text_of(const std::string& path) { return read_small_file(path.c_str()).value_or(""); }

void Tasks::look() {
    known_.insert(root_);
    for (const pid_t pid : std::vector<pid_t>(known_.begin(), known_.end())) look_at(pid);
}

void Tasks::look_at(pid_t pid) {
    const std::vector<pid_t> tids = numbers_in(proc_path(pid) + "/task");
    if (tids.empty()) {
        known_.erase(pid);
        return;
    }
    if (std::string name = text_of(proc_path(pid) + "/comm"); !name.empty()) {
        name.pop_back();
        names_[pid] = name;
    }
    for (const pid_t tid : tids) {
        read_task(pid, tid);
        if (!children_) continue;
        std::istringstream children(text_of(proc_path(pid) + "/task/" + std::to_string(tid) + "/children"));
        for (pid_t child = 0; children >> child;) {
            if (known_.insert(child).second) look_at(child);
        }
    }
}

void Tasks::read_task(pid_t pid, pid_t tid) {
    const std::string path = proc_path(pid) + "/task/" + std::to_string(tid);
    const auto schedule = read_schedule(path);
    if (!schedule) return;
    Task& task = tasks_[{pid, tid}];
    task.cpu_ns = schedule->cpu_ns;
    task.run_queue_ns = schedule->delay_ns;
    if (migrations_) {
        if (const auto count = read_migrations(path)) task.migrations = count;
    }
}

std::map<pid_t, ProcessSum> Tasks::processes() const {
    std::map<pid_t, ProcessSum> sums;
    for (const auto& [ids, task] : tasks_) {
        ProcessSum& sum = sums[ids.first];
        const auto known = before_.find(ids);
        const Task before = known != before_.end() ? known->second : Task{};
        ++sum.threads;
        sum.cpu_ns += task.cpu_ns - before.cpu_ns;
        sum.run_queue_ns += task.run_queue_ns - before.run_queue_ns;
        if (task.migrations)
            sum.migrations = sum.migrations.value_or(0) + *task.migrations - before.migrations.value_or(0);
        if (const auto name = names_.find(ids.first); name != names_.end()) sum.name = name->second;
    }
    return sums;
}

}  // namespace flameprobe::counting
