// The process that is sampled. The collector may be a task of its own, with another process id (session/task.hpp): what
// it asks the kernel about threads, names and CPU time is the host's. Or it is in another program, which looks at a
// process that runs without FlameProbe (tools/flameprobe/attach): then memory and files are the host's too.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace flameprobe {

/// To be called whenever a process is new: at load, and in a forked child. Until then host_process() is the calling
/// process.
void set_host_process(pid_t pid) noexcept;
pid_t host_process() noexcept;
/// Whether the calling thread belongs to the host. A system call; async-signal-safe.
bool is_in_host_process() noexcept;
/// The calling thread, as the kernel answers (kernel_answers.cpp), as getpid() does. Async-signal-safe.
inline std::uint32_t own_tid() noexcept { return static_cast<std::uint32_t>(::gettid()); }

/// Whether the collector is a thread of the host, with descriptors of its own. Then it looks up nothing in its own
/// directory of /proc that is elsewhere too: at a thread's end the kernel drops from its cache what was looked up
/// there, and while a busy machine holds that up, who reaps the process spins (fs/dcache.c: d_invalidate()).
inline constinit std::atomic<bool> collector_is_thread{false};

/// The host is another process, in whose memory there is no code of ours: from now on memory, maps and files are read
/// of that one. Not to be undone; to be called again when exec has replaced its program.
void watch_process(pid_t pid) noexcept;
/// Whether watch_process() was called: the host's addresses are not ours. Async-signal-safe.
bool is_watched_from_outside() noexcept;

/// The kernel has refused to show the watched process's memory: it is not asked again, since Yama has each try logged.
void host_memory_is_hidden() noexcept;
bool may_ask_for_host_memory() noexcept;

/// Whether exec has replaced the host's program: for a task, which has the old one's memory still, and for who watches.
/// The collector only.
bool host_has_other_image();

/// "/proc/PID" of the host.
std::string host_proc_directory();
/// Where /proc tells of the host's memory and program. Where the caller shares these it is /proc/self, the main thread;
/// or the calling thread, once the main one has ended and has no memory any more.
std::string host_memory_directory();

/// The first of the host's arguments as it is now: many programs write over them what a process is for. At most 256
/// bytes.
std::string host_title();

/// What execve(2) was given; where that was the dynamic linker, its path. Empty if it is not to be known.
std::string executed_path();

/// Nanoseconds of CPU time of all the host's threads; 0 if it has ended.
std::uint64_t host_cpu_ns() noexcept;
/// Nanoseconds of CPU time that the collector spends: of its thread, or of its own process.
std::uint64_t collector_cpu_ns() noexcept;
/// Nanoseconds of CPU time of one of the host's threads; 0 if it has ended. From outside of the host's thread group the
/// kernel refuses the clock (clock_gettime: EINVAL), and schedstat is read: up to a scheduler tick behind for a thread
/// that runs just then, and 10 us rather than 0.3.
std::uint64_t host_thread_cpu_ns(std::uint32_t tid);
/// What that costs the collector where it is a task: it opens and reads a file.
inline constexpr std::uint64_t thread_cpu_cost_ns = 5'000;

}  // namespace flameprobe
