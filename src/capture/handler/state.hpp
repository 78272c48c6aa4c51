// All that handlers, and threads that attach themselves, share with the collector.
#pragma once

#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/registers.hpp"
#include "capture/handler/tick_weight.hpp"

namespace flameprobe::handler {

// Where handlers put samples: cells of one size, shared by all threads, so that memory follows the number of CPUs
// (which bounds how many samples can be taken between two drains) and not the number of threads.

/// The head of a cell; `stack_bytes` bytes of stack follow it.
struct CellHead {
    std::uint64_t time_ns;
    std::uint64_t weight;
    std::uint32_t tid;
    std::uint32_t slot;
    std::uint32_t generation;  // of the slot
    std::uint32_t stack_bytes;
    std::uint64_t allocation;  // of samples of allocations: its id, 0 if none
    std::uint64_t mapped_at;   // of samples of allocations: the address of a mapping; 0: it is none
    std::uint32_t stands_for;  // of samples of allocations: how many such samples
    Registers registers;
    bool has_registers;
    bool in_system_call;  // as far as cpu::may_leave_system_call() tells
};

/// A view over memory that the event source owns. Any thread claims and publishes, in handlers too; the collector alone
/// takes. Lock-free, and no thread ever waits for another: a full pool gives null.
class SamplePool {
public:
    enum State : std::uint32_t { free_cell = 0, being_written = 1, full_cell = 2 };

    SamplePool() = default;
    SamplePool(std::atomic<std::uint32_t>* states, std::byte* cells, std::uint32_t count, std::uint32_t cell_bytes)
        : states_(states), cells_(cells), count_(count), cell_bytes_(cell_bytes) {}

    std::uint32_t count() const noexcept { return count_; }

    /// Lowest free cell first: the memory in use stays small and warm.
    CellHead* claim() noexcept {
        for (std::uint32_t i = 0; i < count_; ++i) {
            std::uint32_t state = states_[i].load(std::memory_order_relaxed);
            // Acquire: partner of release() below; what the collector read of the old sample is read before we
            // overwrite.
            if (state == free_cell && states_[i].compare_exchange_strong(
                                          state, being_written, std::memory_order_acquire, std::memory_order_relaxed)) {
                return head(i);
            }
        }
        return nullptr;
    }
    /// Of a cell in the pool. One that was just claimed comes after cells that are in use.
    std::uint32_t index(const CellHead* cell) const noexcept {
        return static_cast<std::uint32_t>(static_cast<std::size_t>(reinterpret_cast<const std::byte*>(cell) - cells_) /
                                          cell_bytes_);
    }
    /// Release: partner of the acquire in full().
    void publish(CellHead* cell) noexcept { states_[index(cell)].store(full_cell, std::memory_order_release); }

    /// Collector only: is there a sample in cell `i`? Then read it by head(i) and give it back by release(i), by which
    /// who claimed it may also drop it.
    bool full(std::uint32_t i) const noexcept { return states_[i].load(std::memory_order_acquire) == full_cell; }
    void release(std::uint32_t i) noexcept { states_[i].store(free_cell, std::memory_order_release); }
    CellHead* head(std::uint32_t i) const noexcept {
        return reinterpret_cast<CellHead*>(cells_ + std::size_t{i} * cell_bytes_);
    }
    static std::byte* stack(CellHead* cell) noexcept { return reinterpret_cast<std::byte*>(cell + 1); }

private:
    std::atomic<std::uint32_t>* states_ = nullptr;
    std::byte* cells_ = nullptr;
    std::uint32_t count_ = 0;
    std::uint32_t cell_bytes_ = 0;
};

// What the handler knows of the thread that it interrupts.

/// One of a fixed table. Claimed by the thread itself (attach_this_thread) or by the collector for it, freed by the
/// collector alone once the thread is gone. The alternate stack stays with the slot for its next thread.
struct alignas(64) ThreadSlot {
    // Written by the thread that claimed the slot, before `ready`.
    std::uint32_t generation = 0;  // grows with every thread: tells late signals of the one before
    std::int32_t timer = -1;       // the kernel's timer id; -1 if none could be had
    /// The thread's CPU time when it was attached: what it used before is not sampled.
    std::uint64_t attached_ns = 0;
    bool masked = false;     // the thread blocks our signal: its timer is not armed
    bool by_itself = false;  // the thread claimed it, not the collector
    /// Written by the collector: user code is sampled too, although State::kernel_only, since perf does not sample it.
    std::atomic<bool> all{false};
    bool duplicate = false;  // written by the collector: another slot has the thread, this one is kept for its stack
    char name[16] = {};      // comm as the thread itself told it; empty if it was not asked
    /// 1 when the above may be read. Release by the claimer, acquire by the collector.
    std::atomic<std::uint32_t> ready{0};
    TickWeight weight{};  // the thread's handler only, from `ready` on
    /// The thread's CPU time up to which its timer was noticed: by the thread's handler, for the collector.
    std::atomic<std::uint64_t> noticed_ns{0};
    /// Weight of the samples that found no free cell: added by the thread's handler, taken by the collector.
    std::atomic<std::uint64_t> dropped{0};
    /// What hits in user code stand for, where only the kernel is sampled (State::kernel_only): likewise.
    std::atomic<std::uint64_t> user_ns{0};
    /// The part of the address space that is this thread's stack for as long as it lives. Empty (low = ~0) until the
    /// collector has proved it from /proc/self/maps. high is written before low (release); the handler reads low first
    /// (acquire). Only low changes afterwards, and only downwards (the main thread's stack grows).
    std::atomic<std::uint64_t> stack_low{~std::uint64_t{0}};
    std::atomic<std::uint64_t> stack_high{0};
    /// The thread's control block (its fs base) as its handler saw it, for the collector to find the stack by: it lies
    /// at the upper end of every stack that glibc made. 0: no sample yet.
    std::atomic<std::uint64_t> control_block{0};
    /// Lowest usable byte of an alternate signal stack of ours; 0 if none could be mapped. Set once.
    std::atomic<std::uint64_t> alternate{0};
};

/// Room for the kernel's frame (up to 11.9 KB where AMX is used), for our handler (under 1 KB), and for handlers of the
/// host that ask for SA_ONSTACK without having given a stack, which would have run on the thread's stack without us.
inline constexpr std::size_t alternate_stack_bytes = 64 * 1024;

/// Lives in memory of the event source that a forked child sees as zeros (MADV_WIPEONFORK): a child's `owners` are
/// free, its pool is empty and `sampling` is false, whatever its parent was doing.
struct State {
    using ClockFunction = int (*)(clockid_t, timespec*);

    std::atomic<bool> sampling{false};  // relaxed: a handler that misses the change takes or drops one sample more
    std::atomic<bool> may_call{true};   // false: a filter was seen, so no system call from the handler
    std::atomic<bool> silent{false};    // the host enters a filter: see expect_filter
    std::atomic<bool> yielded{false};   // the host took our signal: no timer is armed until the collector has another
    bool kernel_only = false;  // a hit in user code is counted in its slot and not sampled: perf's rings have it
    std::int32_t signal = 0;
    std::int32_t pid = 0;
    std::uint32_t stack_bytes = 0;
    std::uint32_t page_bytes = 4096;
    std::uint64_t period_ns = 0;  // weight of a sample, or of each period that a tick stands for; 1: no clock
    std::uint64_t tick_ns = 0;    // the kernel's
    std::uint64_t seed = 0;       // of the moments at which periods fall due
    std::atomic<std::uint64_t> weighed_ns{0};  // CPU time for which all ticks have stood
    bool has_thread_pointer = false;           // cpu::thread_pointer() works
    // The coarse clock where ticks signal: exact then, and read without rdtsc, which faults in a filter's strict mode
    // and PR_SET_TSC.
    clockid_t clock_id = CLOCK_MONOTONIC_COARSE;
    ClockFunction clock = nullptr;  // the vdso's, which makes no system call and sets no errno; may be null

    /// In a forked child, where all reads as zeros.
    bool is_parents() const noexcept { return pid == 0; }
    /// The slot that is claimed for the thread; slot_count: none. Async-signal-safe.
    std::uint32_t slot_of(std::uint32_t tid) const noexcept {
        const std::uint32_t end = used.load(std::memory_order_acquire);
        for (std::uint32_t i = 0; i < end; ++i)
            if (owners[i].load(std::memory_order_acquire) == tid) return i;
        return slot_count;
    }

    SamplePool pool;
    std::atomic<std::uint32_t>* owners = nullptr;  // tid per slot, 0: free. Acquire-release on claiming and freeing.
    ThreadSlot* slots = nullptr;
    std::uint32_t slot_count = 0;
    std::atomic<std::uint32_t> used{0};  // slots that were claimed once are below; raised before a claim
    std::atomic<std::uint32_t> hint{0};  // no free slot is known below: a guess, for speed only
    // Timers count as pending signals, of which the user may have so many in all processes (RLIMIT_SIGPENDING in
    // getrlimit(2)): half of them are the host's. Others may have some when the engine opens.
    std::atomic<std::uint64_t> most_timers{~std::uint64_t{0}};
    std::atomic<std::uint64_t> timers_made{0};
    std::uint64_t others_pending = 0;
    std::atomic<std::uint64_t> stray{0};  // signals that were not ours
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
