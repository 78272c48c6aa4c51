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

/// What is read of a task: up to its links, which come after its future. smol's has none.
inline std::size_t size_of(const TaskTable& table, std::uint32_t links) {
    return table.of_smol ? table.trailer : table.trailer + links + sizeof(TaskLinks);
}

/// Lists of tasks in one runtime: each has a lock's word, its first task and its last.
struct TaskLists {
    std::uint64_t at = 0;
    std::size_t count = 0;
    std::uint32_t links = 0;  // in the trailer
};

/// Where an executor of smol's (async-executor, State) has the wakers of its tasks: a slab of entries of two words, one
/// of which is the task's address where the entry is in use.
struct TaskSlab {
    std::uint64_t entries_at = 0, capacity_at = 0;  // the words with their address and their number
    std::size_t task_at = 0;                        // in an entry
};

class Runtimes {
public:
    /// Searches what the threads' stacks and thread-local memory point at.
    Runtimes(const Memory& memory, const TaskTables& tables);

    const std::vector<TaskLists>& lists() const { return lists_; }
    const std::vector<TaskSlab>& slabs() const { return slabs_; }

private:
    bool add_at(std::uint64_t handle);
    bool is_array(std::uint64_t at, std::uint64_t count) const;
    std::optional<std::uint32_t> links_of(const TaskLists& lists) const;
    bool add_slab_at(std::uint64_t executor);
    void search_executors();
    std::uint64_t executor_of(std::uint64_t entries, std::uint64_t capacity, std::size_t& task_at) const;
    void search(std::uint64_t begin, std::uint64_t end);

    const Memory& memory_;
    const TaskTables& tables_;
    std::vector<TaskLists> lists_;
    std::vector<TaskSlab> slabs_;
    std::vector<std::uint64_t> executors_;
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
constexpr std::size_t entry_words = 2;  // of a slab

}  // namespace flameprobe::async
