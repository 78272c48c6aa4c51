// tokio's runtimes, and the lists in which each has its tasks (tokio, runtime/task/list.rs: OwnedTasks).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "task_tables.hpp"

namespace flameprobe::async {

/// A task has its neighbours in its trailer, so many bytes from the trailer's start.
struct TaskLinks {
    std::uint64_t previous = 0, next = 0;
};

/// What is read of a task: up to its links, which come after its future.
inline std::size_t size_of(const TaskTable& table, std::uint32_t links) {
    return table.trailer + links + sizeof(TaskLinks);
}

/// Lists of tasks in one runtime: each has a lock's word, its first task and its last.
struct TaskLists {
    std::uint64_t at = 0;
    std::size_t count = 0;
    std::uint32_t links = 0;  // in the trailer
};

class Runtimes {
public:
    /// Searches what the threads' stacks and thread-local memory point at.
    Runtimes(const Memory& memory, const TaskTables& tables);

    const std::vector<TaskLists>& lists() const { return lists_; }

private:
    bool add_at(std::uint64_t handle);
    bool is_array(std::uint64_t at, std::uint64_t count) const;
    std::optional<std::uint32_t> links_of(const TaskLists& lists) const;
    void search(std::uint64_t begin, std::uint64_t end);

    const Memory& memory_;
    const TaskTables& tables_;
    std::vector<TaskLists> lists_;
    std::vector<std::uint64_t> seen_;
};

struct ListedTask {
    std::uint64_t address = 0;
    const TaskTable* table = nullptr;
    std::uint32_t links = 0;
};

/// Follows one list until there are `most` tasks. False if its links do not agree both ways: it has changed meanwhile,
/// and `tasks` has what was read.
bool walk_list(std::uint64_t list, std::uint32_t links, const TaskTables& tables, std::size_t most,
               std::vector<ListedTask>& tasks);

constexpr std::size_t list_bytes = 24;

}  // namespace flameprobe::async
