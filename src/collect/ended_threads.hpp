#pragma once

#include <cstdint>

#include "base/host_queue.hpp"

namespace flameprobe {

/// What a thread of the host reports at its end, after the last code of its own.
struct EndedThread {
    std::uint32_t tid = 0;
    std::uint64_t cpu_ns = 0;   // of all its life
    std::uint64_t routine = 0;  // its start routine
    std::uint64_t caller = 0;   // the return address of `routine`, in libc
    char name[16] = {};         // comm
};

/// The time of a thread that finds no room is in the process's clock only.
using EndedThreads = HostQueue<EndedThread, 8192>;

}  // namespace flameprobe
