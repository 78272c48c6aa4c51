// Where a thread stands that waits in the kernel: /proc/PID/task/TID/syscall (proc(5)). Without a signal, and without
// stopping it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/descriptor.hpp"

namespace flameprobe {

struct BlockedThread {
    static constexpr std::int64_t no_call = -1;

    std::int64_t call = no_call;  // number of the system call it is in; no_call: a page fault, or not begun yet
    std::uint64_t sp = 0, pc = 0;
};

/// The collector thread only. Its descriptors are in the collector's own table.
class BlockedReader {
public:
    enum class Outcome : std::uint8_t {
        blocked,
        runs,     // on a CPU, or about to be
        gone,     // the thread has ended
        refused,  // see why_refused()
    };
    Outcome read(std::uint32_t tid, BlockedThread& out);
    /// How often the thread has got a CPU (schedstat's third number): as long as it stays the same, the thread has not
    /// run. Nothing if the thread is gone.
    std::optional<std::uint64_t> slices(std::uint32_t tid);
    const std::string& why_refused() const { return why_refused_; }
    void forget(std::uint32_t tid) { kept_.erase(tid); }
    void close_files();

private:
    Descriptor open(std::uint32_t tid, const char* file);

    Descriptor directory_;
    std::unordered_map<std::uint32_t, Descriptor> kept_;  // opening costs as much as all the rest
    bool keeps_ = true;                                   // there are descriptors left
    std::string why_refused_;
};

/// The text of the file. False: the thread runs, or the text is none.
bool parse_blocked(const char* text, BlockedThread& out);

/// Whether a process of the same user, outside of the host's thread group, may read that file: Yama's rule for ptrace
/// forbids it to all but a parent, whatever the user.
bool may_read_from_outside();

}  // namespace flameprobe
