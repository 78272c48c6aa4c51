// What the host's threads leave of each passing of a request (flameprobe/request.h), and the collector reads: its
// beginning, its end, its label.
//
// A thread writes into a chunk of its own. When that is full it drops it and takes another. The collector reads chunks
// in any order, and frees those that are read to their end and dropped, or whose thread is gone. Without a free chunk a
// passing is counted at once, in cells that all threads share. So none is ever lost, but its samples are then not known
// to be its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/duration_cells.hpp"
#include "base/host_names.hpp"
#include "cpu/instructions.hpp"

namespace flameprobe::passings {

inline constexpr unsigned most_labels = 100;  // the last one is for all beyond

struct Entry {
    std::uint64_t begin, end;  // as Clock says
    std::uint32_t tid;
    std::atomic<std::uint32_t> what;  // 0: not written yet; else 1 + label, and `failed`
};
inline constexpr std::uint32_t failed_bit = 1u << 31;

struct alignas(64) Chunk {
    static constexpr std::uint32_t size = 340;  // 8 KiB

    std::atomic<std::uint32_t> owner;    // the thread's id; 0: free
    std::atomic<std::uint32_t> dropped;  // its owner writes no more
    std::atomic<std::uint32_t> claimed;  // entries, and more
    std::uint32_t read;                  // so many of them, by the collector, which alone uses this
    Entry entries[size];
};

/// Of passings for which there was no chunk: their durations by label.
struct Beyond {
    std::atomic<std::uint32_t> cells[duration_cells];
    std::atomic<std::uint64_t> failed, sum_ns, longest_ns;
};

/// 3.9 MB of zeros, of which memory is used where something was written.
struct Pool {
    static constexpr std::uint32_t size = 256;
    std::atomic<std::uint32_t> free_hint;
    std::atomic<bool> any_beyond;
    Chunk chunks[size];
    Beyond beyond[most_labels];
};

/// By what passings are timed. A reading by the counter is odd, one of the kernel's clock even: a passing ends by the
/// one that it began by.
enum class Clock : std::uint32_t { none, counter, kernel };

struct State {
    std::atomic<Clock> clock{Clock::none};
    std::atomic<std::uint64_t> tick_ns{0};                   // of the counter, in 2^-32 ns; 0: not known yet
    std::atomic<std::uint64_t> first_ticks{0}, first_ns{0};  // both clocks at one moment, before any passing
    std::atomic<bool> quiet{false};                          // a filter was entered: no system call from here on
    std::atomic<bool> faults{false};                         // the counter does, for good
    std::atomic<Pool*> pool{nullptr};                        // null until a passing was timed
    std::atomic<std::uint64_t> untimed{0};                   // passings whose duration is not known
    Names<most_labels> names{};
};

inline std::uint64_t ns_of_ticks(std::uint64_t ticks, std::uint64_t tick_ns) noexcept {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<Wide>(ticks) * tick_ns >> 32);
}

}  // namespace flameprobe::passings
