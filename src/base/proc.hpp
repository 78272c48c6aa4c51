// Small readers of /proc. All give nothing where /proc is not mounted.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"

namespace flameprobe {

/// Whether the numbers in /proc are those of this pid namespace; false where it is not mounted.
bool proc_is_of_this_namespace();
/// Where a symbolic link leads; empty if it cannot be read.
std::string link_target(const std::string& path);
/// A whole regular file of 64 MiB at most; nothing if it cannot be read. A FIFO is no regular file, and is not waited
/// for.
std::optional<std::string> read_small_file(const char* path);
std::optional<std::string> read_all(const Descriptor& file);
/// The tids of the host, sorted. Empty where /proc is not mounted, or is that of another pid namespace, whose numbers
/// mean other threads.
std::vector<std::uint32_t> list_threads();
/// The same without the calling thread, which is the collector where that is a thread of the host.
std::vector<std::uint32_t> list_other_threads();
/// Whether a thread of the host is gone, or only listed because the main thread always is (proc(5): state Z).
bool has_ended(std::uint32_t tid);
/// Whether a thread does the kernel's work only, for io_uring, by the text of its stat (proc(5)): it runs no code of
/// the program's, and libc does not know of it.
bool runs_in_kernel(std::string_view stat);
bool runs_in_kernel(std::uint32_t tid);
/// The status that a thread has ended with which is still listed: the main one. 0 if it is not known.
int exit_status_of(std::uint32_t tid);
/// The names in any directory, `path` as seen from the directory `from`, without . and ..; nothing where it cannot be
/// listed, for want of a descriptor for instance.
std::optional<std::vector<std::string>> names_in(int from, const char* path = ".");
/// The names in a directory of /proc that are numbers: processes, or a process's threads.
std::vector<pid_t> numbers_in(const std::string& directory);
/// Whether a process runs. A zombie does not, nor one that exits; one whose main thread ended before the others does.
bool is_running(pid_t pid);
/// comm, without the newline; empty if the thread is gone, or /proc is that of another pid namespace.
std::string thread_comm(std::uint32_t tid);
/// Field `number` (3 or more) of the text of a /proc/PID/stat or /proc/PID/task/TID/stat, as proc(5) numbers them;
/// empty if there is none.
std::string_view stat_field(std::string_view stat, int number);
/// The same as a number; 0 if it is none.
std::uint64_t stat_number(std::string_view stat, int number);
/// The numbers behind `key` in the text of a /proc/PID/status or /proc/PID/task/TID/status (proc(5)), in their unit
/// there; none if it has no such line. Signal masks are to the `base` 16.
std::vector<std::uint64_t> status_numbers(const std::string& status, const std::string& key, int base = 10);
/// The first of them.
std::optional<std::uint64_t> status_number(const std::string& status, const std::string& key, int base = 10);
/// A process's users (proc(5), Uid) by its directory in /proc; nothing if it has ended.
struct ProcessUsers {
    uid_t real = 0, effective = 0, saved = 0;
};
std::optional<ProcessUsers> users_of(const std::string& process);
/// The user whose rights a process has, by its directory in /proc, which itself belongs to root where the process may
/// not be dumped. Nothing if it has ended.
std::optional<uid_t> effective_user_of(const std::string& process);
/// How many filters of system calls are in force for a thread, by the text of its status (proc(5)); unknown_filters in
/// strict mode, and where the kernel only tells that there are some (Linux before 5.9).
int filters_in_force(const std::string& status);
inline constexpr int unknown_filters = std::numeric_limits<int>::max();
/// A sysctl such as /proc/sys/kernel/perf_event_paranoid.
std::optional<long> read_sysctl(const char* path);

/// What the scheduler counts for a thread (proc(5): /proc/PID/task/TID/schedstat).
struct TaskSchedule {
    std::uint64_t cpu_ns = 0;    // on CPUs; up to a tick behind while the thread runs
    std::uint64_t delay_ns = 0;  // runnable, but without a CPU
    std::uint64_t slices = 0;    // how often it got a CPU: as long as it stays the same, the thread has not run
};

/// Of the text of a schedstat file; nullopt if it is none.
std::optional<TaskSchedule> parse_schedule(const char* text);

/// `task`: a thread's directory, such as "/proc/1/task/2". nullopt where the thread has ended, or the kernel counts
/// nothing (CONFIG_SCHED_INFO).
std::optional<TaskSchedule> read_schedule(const std::string& task);

/// Tells where a path leads: "BOOT-ID MNT-NAMESPACE ROOT", the latter two as DEVICE:INODE, of a process by its
/// directory in /proc ("/proc/self"); empty where /proc does not give it. For processes with equal texts a path leads
/// to the same file.
std::string place_of(const std::string& process);

/// The same boot, though perhaps another container. False where one is empty.
bool same_boot(const std::string& one, const std::string& other);

/// A process's /proc/PID/task, kept open: reading it costs little, and works after a chroot or without a mounted /proc.
/// One thread only.
class TaskList {
public:
    explicit TaskList(const std::string& directory = "/proc/self/task");

    /// Threads of the process, from the directory's link count; 0 where /proc is not mounted.
    std::size_t count() const;
    /// Whether the host has no thread but its main one, beside a collector that is a thread of it.
    bool only_main() const;
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
