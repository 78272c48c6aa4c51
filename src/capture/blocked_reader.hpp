// Where a thread that waits in the kernel stands, from /proc/PID/task/TID/syscall (proc(5)): it gets no signal and is
// not stopped.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "base/descriptor.hpp"
#include "base/proc.hpp"

namespace flameprobe {

struct BlockedThread {
    static constexpr std::int64_t no_call = -1;

    std::int64_t call = no_call;  // number of the system call it is in; no_call: in a page fault, or not started yet
    std::uint64_t sp = 0, pc = 0;
    std::array<std::uint64_t, 6> arguments{};  // of the call

    bool operator==(const BlockedThread&) const = default;
};

/// Collector thread only: the descriptors are in the collector's own table.
class BlockedReader {
public:
    enum class Outcome : std::uint8_t {
        blocked,
        runs,     // on a CPU, or about to be
        gone,     // the thread has ended
        refused,  // see why_refused()
    };
    Outcome read(std::uint32_t tid, BlockedThread& out);
    /// The kernel function in which the thread waits (`wchan`, proc(5)); empty where the kernel does not tell it.
    std::string channel(std::uint32_t tid);
    /// nullopt if the thread is gone, or the kernel does not count that.
    std::optional<TaskSchedule> schedule(std::uint32_t tid);
    const std::string& why_refused() const { return why_refused_; }
    void forget(std::uint32_t tid) { files_.erase(tid); }
    void close_files();

private:
    enum File : std::uint8_t { call_file, channel_file, schedule_file, number_of_files };

    Descriptor open(std::uint32_t tid, File file);
    ssize_t read(std::uint32_t tid, File file, std::span<char> text);
    Outcome refused(int why);

    Descriptor directory_;
    // Of each thread. Opening costs as much as all the rest.
    std::unordered_map<std::uint32_t, std::array<Descriptor, number_of_files>> files_;
    bool keeps_files_ = true;  // false: descriptors run short, so files are opened for each reading
    int without_channel_ = 0;  // how often channel() gave no name
    bool has_channels_ = false;
    std::string why_refused_;
};

/// Parses the text of that file. False: the thread runs, or the text is malformed.
bool parse_blocked(const char* text, BlockedThread& out);

/// Whether a process of the same user, outside of the host's thread group, may read that file: Yama's rule for ptrace
/// forbids it to all but a parent, whatever the user.
bool may_read_from_outside();

}  // namespace flameprobe
