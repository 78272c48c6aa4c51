// tokio's task tables, found by their form alone: neither symbols nor debug information are needed.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "memory.hpp"

namespace flameprobe::async {

/// One for each type of task (tokio, runtime/task/raw.rs: Vtable): seven functions, then where a task has its parts.
struct TaskTable {
    std::uint64_t poll = 0;
    std::uint32_t trailer = 0, scheduler = 0, id = 0;  // offsets from a task's header
};

class TaskTables {
public:
    /// Of the program's own file.
    TaskTables(const Memory& memory, const std::string& executable);

    /// Null if there is none at the address.
    const TaskTable* find(std::uint64_t address) const {
        const auto known = tables_.find(address);
        return known == tables_.end() ? nullptr : &known->second;
    }
    std::size_t count() const { return tables_.size(); }
    /// What to add to an address in the file.
    std::uint64_t bias() const { return bias_; }

private:
    std::unordered_map<std::uint64_t, TaskTable> tables_;
    std::uint64_t bias_ = 0;
};

/// A task's header (tokio, runtime/task/core.rs).
struct TaskHeader {
    static constexpr std::uint64_t running = 1, complete = 2, notified = 4;  // runtime/task/state.rs

    std::uint64_t state = 0, queue_next = 0, table = 0, owner = 0;
};

/// The header at `address`; nothing where no table is known of it.
struct FoundTask {
    TaskHeader header;
    const TaskTable* table = nullptr;
};
FoundTask read_task(std::uint64_t address, const TaskTables& tables);

}  // namespace flameprobe::async
