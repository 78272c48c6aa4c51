#pragma once

#include <sys/syscall.h>
#include <time.h>

#include <cstdint>
#include <optional>

#include "base/clock.hpp"
#include "capture/handler/raw_system_call.hpp"

namespace flameprobe {

/// CPU time in nanoseconds, past any clock_gettime of the host's own. Nothing for a thread that ended; one that has not
/// run yet has used no time, which read_clock could not tell apart.
inline std::optional<std::uint64_t> cpu_time(std::uint32_t tid) {
    timespec time{};
    if (handler::system_call(SYS_clock_gettime, long{thread_cpu_clock(tid)}, &time) != 0) return std::nullopt;
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace flameprobe
