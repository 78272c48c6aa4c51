#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.hpp"

namespace flameprobe {

/// A process's /proc/PID/task, kept open: reading it costs little, and works after a chroot or without a mounted /proc.
/// One thread only.
class TaskList {
public:
    explicit TaskList(const std::string& directory = "/proc/self/task");

    /// Threads of the process, from the directory's link count; 0 where /proc is not mounted.
    std::size_t count() const;
    /// Their tids, sorted, into `tids`. False where /proc is not mounted, or if the calling thread is not among them.
    bool read(std::vector<std::uint32_t>& tids) const;
    /// /proc/self/task/TID/`name`; nothing if the thread is gone.
    std::optional<std::string> file(std::uint32_t tid, const char* name) const;
    /// comm, without the newline; empty if the thread is gone.
    std::string comm(std::uint32_t tid) const;

private:
    Descriptor directory_;
    // Not on the stack: the host may ask in a thread that has little of it.
    mutable std::vector<char> buffer_;
};

}  // namespace flameprobe
