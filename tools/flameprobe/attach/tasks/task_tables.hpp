// tokio's task tables, found by their form alone: neither symbols nor debug information are needed.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>

#include "memory.hpp"

namespace flameprobe::async {

/// One for each type of task.
/// tokio (runtime/task/raw.rs: Vtable): seven functions, then where a task has its parts.
/// smol (async-task, raw.rs: TaskVTable): seven functions, then where such numbers are.
struct TaskTable {
    std::uint64_t poll = 0;                            // smol's is called `run`
    std::uint32_t trailer = 0, scheduler = 0, id = 0;  // offsets from a task's header; smol's: its size, no id
    bool of_smol = false;
    std::uint32_t future = 0;                         // smol's: where it has its future
    std::uint32_t state_at = 0, table_at = 16;        // in the header
    std::uint64_t running = 1, ended = 2, woken = 4;  // in its state (runtime/task/state.rs)
};

class TaskTables {
public:
    /// Of the program's own file.
    TaskTables(const Memory& memory, const std::string& executable);

    /// By the first words of what may be a task; null if it is none.
    const TaskTable* of(const std::byte* header) const;
    std::size_t count() const { return tables_.size(); }
    /// What to add to an address in the file.
    std::uint64_t bias() const { return bias_; }

private:
    std::optional<TaskTable> smol_table(std::uint64_t poll, std::uint64_t layout) const;

    std::unordered_map<std::uint64_t, TaskTable> tables_;  // of smol's, where the header begins with the table
    std::unordered_map<std::uint64_t, TaskTable> last_;    // and where it ends with it: that is left to the compiler
    std::uint64_t bias_ = 0;
};

/// The words at a task's beginning. tokio (runtime/task/core.rs: Header): state, queue, table, the list's number.
constexpr std::size_t header_bytes = 4 * word;

inline std::uint64_t word_at(const std::byte* bytes, std::size_t offset) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes + offset, sizeof value);
    return value;
}

/// The header at `address`; nothing where no table is known of it.
struct FoundTask {
    std::array<std::uint64_t, header_bytes / word> header{};
    const TaskTable* table = nullptr;

    std::uint64_t owner() const { return header[3]; }  // tokio's: the number of its list
};
FoundTask read_task(std::uint64_t address, const TaskTables& tables);

}  // namespace flameprobe::async
