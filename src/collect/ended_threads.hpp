#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/memory_map.hpp"

namespace flameprobe {

/// What a thread of the host says of itself at its end, after its last own work.
struct EndedThread {
    std::uint32_t tid = 0;
    std::uint64_t cpu_ns = 0;   // of all its life
    std::uint64_t routine = 0;  // what it was created with
    std::uint64_t caller = 0;   // the return address of `routine`, in libc
    char name[16] = {};         // comm
};

/// From ending threads to the collector. If it comes too late for some, only the process's clock tells of their time.
class EndedThreads {
public:
    EndedThreads();

    /// Any thread; lock-free and async-signal-safe.
    void tell(const EndedThread& thread) noexcept;

    /// The collector: all that were told of, oldest first.
    void take(std::vector<EndedThread>& out);

    static constexpr std::uint32_t capacity = 8192;

private:
    // Of the round r of the ring a cell may be written when `turn` is 2r, and read when it is 2r + 1.
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
