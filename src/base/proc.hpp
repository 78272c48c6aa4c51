// Small readers of /proc. All give nothing where /proc is not mounted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flameprobe {

/// A whole small file; nothing if it cannot be read.
std::optional<std::string> read_small_file(const char* path);
/// The tids of the host, sorted. Empty where /proc is not mounted, or is that of another pid namespace, whose numbers
/// mean other threads.
std::vector<std::uint32_t> list_threads();
/// The same without the calling thread, which is the collector where that is a thread of the host.
std::vector<std::uint32_t> list_other_threads();
/// Whether a thread of the host is gone, or only listed because the main thread always is (proc(5): state Z).
bool has_ended(std::uint32_t tid);
/// comm, without the newline; empty if the thread is gone.
std::string thread_comm(std::uint32_t tid);
/// A sysctl such as /proc/sys/kernel/perf_event_paranoid.
std::optional<long> read_sysctl(const char* path);

}  // namespace flameprobe
