#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/memory_map.hpp"

namespace flameprobe {

/// What a thread of the host reports at its end, after the last code of its own.
struct EndedThread {
    std::uint32_t tid = 0;
    std::uint64_t cpu_ns = 0;   // of all its life
    std::uint64_t routine = 0;  // its start routine
    std::uint64_t caller = 0;   // the return address of `routine`, in libc
    char name[16] = {};         // comm
};

/// A queue from ending threads to the collector. A thread that finds it full is dropped: its time is then in the
/// process's clock only.
class EndedThreads {
public:
    EndedThreads();

    /// Any thread; lock-free and async-signal-safe.
    void report(const EndedThread& thread) noexcept;

    /// Collector thread only: gives all threads that have reported, oldest first.
    void take(std::vector<EndedThread>& out);

    static constexpr std::uint32_t capacity = 8192;

private:
    // In round r of the ring a cell may be written when `turn` is 2r, and read when it is 2r + 1.
    struct Cell {
        std::atomic<std::uint32_t> turn;
        EndedThread thread;
    };
    static std::uint32_t round(std::uint32_t position) { return position / capacity * 2; }

    MemoryMap memory_;       // zeros, and only what is used takes up memory
    Cell* cells_ = nullptr;  // null: no memory
    std::atomic<std::uint32_t> next_{0};
    std::uint32_t taken_ = 0;
};

}  // namespace flameprobe
