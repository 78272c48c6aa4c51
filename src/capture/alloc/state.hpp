// What libflameprobe-alloc.so, inside the host's malloc, shares with the collector.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/elementary.hpp"
#include "base/hash.hpp"
#include "capture/alloc/live_table.hpp"
#include "capture/handler/state.hpp"

namespace flameprobe::alloc {

inline constexpr std::uint32_t no_record = ~std::uint32_t{0};

/// Of the smallest pages there are.
constexpr std::size_t whole_pages(std::size_t bytes) noexcept {
    constexpr std::size_t page = 4096;
    return (bytes + page - 1) & ~(page - 1);
}

/// What one thread has allocated, exactly: `offset - left` bytes in `calls` calls. Only its thread writes; it is used
/// again for another thread, and goes on then.
struct alignas(64) Record {
    std::uint64_t left = 0;  // bytes to the next sample
    std::uint64_t calls = 0;
    std::uint64_t offset = 0;
    std::uint64_t random = 0;
    std::atomic<std::uint32_t> version{0};  // odd while `left` and `offset` change together
    std::atomic<std::uint32_t> owner{0};    // the thread's id; 0: free, or of the process that forked this one
    std::uint32_t next_free = 0;            // index + 1
    bool inside = false;  // a sample is being taken: an allocation in a signal handler is counted only

    std::atomic<std::uint64_t> control_block{0};  // of the thread; 0: not known
    std::uint32_t claims = 0;                     // threads that had the record: the last one's number
    /// Written by the collector: where the stack of that one of them is which `stack_of` names. As in ThreadSlot.
    std::atomic<std::uint32_t> stack_of{0};
    std::atomic<std::uint64_t> stack_low{0}, stack_high{0};
};

/// A sum of samples that found no free cell, by the logarithm of their sizes.
struct LostSamples {
    std::atomic<std::uint64_t> number{0}, bytes{0};
};

/// Lives in memory that a forked child sees as zeros. In a sample's cell `weight` is the number of bytes asked for,
/// `slot` and `generation` are the number and `claims` of the thread's record, no_record if it has none, and
/// `allocation` is the id under which `live` has it, if it is no mapping.
struct State {
    std::atomic<std::uint32_t> ready{0};  // 1: being made; 2: made
    std::atomic<bool> on{true};
    std::atomic<bool> attended{false};    // there is a collector: before, few cells are used
    std::atomic<bool> unattended{false};  // some have been
    bool tracks_frees = false;
    std::size_t bytes = 0;  // of all this memory, which begins here
    std::uint64_t mean = 0;
    std::atomic<std::uint64_t> last_id{0};
    std::atomic<bool> has_mappings{false};    // one was sampled whose end matters
    std::atomic<std::uint64_t> untracked{0};  // samples for which `live` had no room, and mappings' ends
    std::atomic<std::uint64_t> loose_bytes{0}, loose_calls{0}, loose_random{0};  // of threads without a record
    LostSamples lost[64];
    handler::State samples;  // its pool, and what a copy of a stack needs
    LiveTable live;

    Record* records = nullptr;
    std::uint32_t record_count = 0;
    std::atomic<std::uint32_t> records_used{0};
    std::atomic<std::uint64_t> free_records{0};  // a stack: a number that grows, and index + 1

    static unsigned size_class(std::uint64_t bytes) noexcept {
        return bytes == 0 ? 0 : static_cast<unsigned>(std::bit_width(bytes)) - 1;
    }
};

/// What the collector calls; the one symbol of ours that libflameprobe-alloc.so exports, `flameprobe_alloc_table`.
struct Table {
    std::uint32_t version;
    /// Null until the first allocation, or if there is no memory.
    State* (*state)() noexcept;
    /// The calling thread's allocations are ours from here on, and do not count; nested. 0: no more.
    void (*exempt)(int begin) noexcept;
    /// From here on no sample makes a system call or reads the fine clock, in children too. Async-signal-safe.
    void (*go_silent)() noexcept;
    /// Whether the host's malloc is the one that counts.
    bool (*reached)() noexcept;
    /// The library's code, whose frames no stack shows.
    std::uintptr_t code_begin, code_end;
};
inline constexpr std::uint32_t table_version = 4;

/// What the calling thread allocates while it lives is ours, and does not count as the host's.
class Exempted {
public:
    /// `table`: null where the library is not loaded.
    explicit Exempted(const Table* table) noexcept : table_(table) {
        if (table_ != nullptr) table_->exempt(1);
    }
    ~Exempted() {
        if (table_ != nullptr) table_->exempt(0);
    }
    Exempted(const Exempted&) = delete;

private:
    const Table* const table_;
};

// When an allocation is sampled: a Poisson process over the bytes that a thread allocates. An allocation of s bytes is
// sampled with the probability 1 - exp(-s / mean), whatever came before. No libm: this runs inside malloc.

/// The probability with which an allocation is sampled, to 1e-12 of itself.
inline double chance_of_sample(std::uint64_t size, std::uint64_t mean) noexcept {
    return -exp_minus_1(-static_cast<double>(size) / static_cast<double>(mean));
}

/// How many bytes from here on make the next sample: exponentially distributed, rounded up, so that an allocation of s
/// bytes has exactly the probability above. At least 1, at most 2^62. `state` is the generator's.
inline std::int64_t bytes_to_next(std::uint64_t& state, std::uint64_t mean) noexcept {
    constexpr double most = 4.6e18;
    const double uniform = (static_cast<double>(next_random(state) >> 11) + 0.5) * 0x1p-53;
    const double bytes = -natural_log(uniform) * static_cast<double>(mean);
    if (bytes >= most) return static_cast<std::int64_t>(most);
    const auto whole = static_cast<std::int64_t>(bytes);
    return static_cast<double>(whole) < bytes ? whole + 1 : whole < 1 ? 1 : whole;
}

/// How many samples one stands for that is taken while `in_use` of `room` cells are: one of so many is taken then. A
/// thread may take a hundred thousand in the moment in which the collector waits for a CPU. They become fewer from a
/// quarter on, so that room is left: sums stay right, only less exact.
constexpr std::uint32_t stands_for(std::uint32_t in_use, std::uint32_t room) noexcept {
    constexpr std::uint32_t doublings = 12;
    const std::uint32_t quarter = room / 4;
    return in_use < quarter ? 1 : 2u << (in_use - quarter) * doublings / (room - quarter);
}

}  // namespace flameprobe::alloc
