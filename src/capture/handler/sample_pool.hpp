// Where handlers put samples: cells of one size, shared by all threads, so that memory follows the number of CPUs
// (which bounds how many samples can be taken between two drains) and not the number of threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/registers.hpp"

namespace flameprobe::handler {

/// The head of a cell; `stack_bytes` bytes of stack follow it.
struct CellHead {
    std::uint64_t time_ns;
    std::uint64_t weight;  // without a slot: the thread's CPU time, 0 if it may not be asked for
    std::uint32_t tid;
    std::uint32_t slot;        // no_slot: the signal engine has none
    std::uint32_t generation;  // of the slot
    std::uint32_t stack_bytes;
    std::uint64_t allocation;  // of samples of allocations: its id, 0 if none
    std::uint64_t mapped_at;   // of samples of allocations: the address of a mapping; 0: it is none
    std::uint32_t stands_for;  // of samples of allocations: how many such samples
    Registers registers;
    bool has_registers;
    bool in_system_call;  // as far as cpu::may_leave_system_call() tells

    static constexpr std::uint32_t no_slot = 0xffff;
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
    /// Whether so many cells are in use that the collector should come soon.
    bool is_scarce_after(CellHead* cell) const noexcept { return index(cell) >= count_ / 8; }
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

}  // namespace flameprobe::handler
