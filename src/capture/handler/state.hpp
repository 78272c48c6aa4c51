// All that handlers, and threads that attach themselves, share with the collector.
#pragma once

#include <signal.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "capture/handler/sample_pool.hpp"
#include "capture/handler/thread_slot.hpp"

namespace flameprobe::handler {

/// Lives in memory of the event source that a forked child sees as zeros (MADV_WIPEONFORK): a child's `owners` are
/// free, its pool is empty and `sampling` is false, whatever its parent was doing.
struct State {
    using ClockFunction = int (*)(clockid_t, timespec*);

    std::atomic<bool> sampling{false};  // relaxed: a handler that misses the change takes or drops one sample more
    std::atomic<bool> may_call{true};   // false: a filter was seen, so no system call from the handler
    std::atomic<bool> silent{false};    // the host enters a filter: see expect_filter
    std::atomic<bool> yielded{false};   // the host took our signal: no timer is armed until the collector has another
    bool kernel_only = false;  // a hit in user code is counted in its slot and not sampled: perf's rings have it
    bool timers = true;        // false: perf events signal, and slots serve for alternate stacks and names only
    std::int32_t signal = 0;
    std::int32_t pid = 0;
    std::uint32_t stack_bytes = 0;
    std::uint32_t page_bytes = 4096;
    std::uint64_t period_ns = 0;  // weight of a sample, or of each period that a tick stands for; 1: no clock
    std::uint64_t tick_ns = 0;    // the kernel's; 0 for the signal engine
    std::uint64_t seed = 0;       // of the moments at which periods fall due
    std::atomic<std::uint64_t> weighed_ns{0};  // CPU time for which all ticks have stood
    bool has_thread_pointer = false;           // cpu::thread_pointer() works
    // The coarse clock where ticks signal: exact then, and read without rdtsc, which faults in a filter's strict mode
    // and PR_SET_TSC.
    clockid_t clock_id = CLOCK_MONOTONIC_COARSE;
    ClockFunction clock = nullptr;  // the vdso's, which makes no system call and sets no errno; may be null

    SamplePool pool;
    std::atomic<std::uint32_t>* owners = nullptr;  // tid per slot, 0: free. Acquire-release on claiming and freeing.
    ThreadSlot* slots = nullptr;
    std::uint32_t slot_count = 0;
    std::atomic<std::uint32_t> used{0};  // slots that were claimed once are below; raised before a claim
    std::atomic<std::uint32_t> hint{0};  // no free slot is known below: a guess, for speed only
    // Control block, tid and slot (slot_count: none) of the thread that entered the filter.
    std::atomic<std::uint64_t> filtered_base{0};
    std::atomic<std::uint32_t> filtered_tid{0};
    std::atomic<std::uint32_t> filtered_slot{0};
    // Timers count as pending signals, of which the user may have so many in all processes (RLIMIT_SIGPENDING in
    // getrlimit(2)): half of them are the host's. Others may have some when the engine opens.
    std::atomic<std::uint64_t> most_timers{~std::uint64_t{0}};
    std::atomic<std::uint64_t> timers_made{0};
    std::uint64_t others_pending = 0;
    std::atomic<std::uint64_t> dropped{0};  // of the signal engine, which has no slots: samples that found no free cell
    std::atomic<std::uint64_t> stray{0};    // signals that were not ours
};

/// Our timers' sigev_value, so that no other signal is taken for ours: a secret, the slot's generation, the slot.
struct Token {
    std::uint32_t secret;
    std::uint16_t generation;
    std::uint16_t slot;

    static Token unpack(std::uint64_t value) noexcept {
        return {static_cast<std::uint32_t>(value >> 32), static_cast<std::uint16_t>(value >> 16),
                static_cast<std::uint16_t>(value)};
    }
    std::uint64_t pack() const noexcept { return std::uint64_t{secret} << 32 | std::uint64_t{generation} << 16 | slot; }
};

// The only globals: a handler has no other way to find anything.

/// Makes `state` the one that handlers use. One at a time in a process.
void publish(State* state) noexcept;
/// Handlers drop what they get, unless another state was published since.
void withdraw(State* state) noexcept;
/// Keeps the published state mapped while it lives: quiet() is false. Async-signal-safe.
class Visit {
public:
    Visit() noexcept;
    ~Visit();
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    State* state() const noexcept { return state_; }

private:
    State* state_;
};
/// Whether no handler and no other Visit still uses a state from before the last publish() or withdraw().
bool quiet() noexcept;
/// A number that is the same for the life of the process, set by the first caller: signals of a stopped session that
/// arrive late are still known as ours. Not 0.
std::uint32_t secret(std::uint32_t random) noexcept;
/// The child of a fork has none of its parent's running handlers.
void forget_parent() noexcept;

}  // namespace flameprobe::handler
