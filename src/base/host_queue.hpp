#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/memory_map.hpp"

namespace flameprobe {

/// A queue from threads of the host to the collector. What finds it full is dropped.
template <class Report, std::uint32_t capacity_>
class HostQueue {
public:
    static constexpr std::uint32_t capacity = capacity_;

    HostQueue()
        : memory_(MemoryMap::reserve(capacity * sizeof(Cell))), cells_(reinterpret_cast<Cell*>(memory_.data())) {}

    /// Any thread; lock-free and async-signal-safe. Gives a number for has_taken(); nothing if there is no room.
    std::optional<std::uint32_t> report(const Report& report) noexcept {
        std::uint32_t position = next_.load(std::memory_order_relaxed);
        while (cells_ != nullptr) {
            Cell& cell = cells_[position % capacity];
            // Acquire: partner of the collector's release when it has read the cell.
            const std::uint32_t turn = cell.turn.load(std::memory_order_acquire);
            if (turn == round(position)) {
                if (!next_.compare_exchange_weak(position, position + 1, std::memory_order_relaxed)) continue;
                cell.report = report;
                cell.turn.store(turn + 1, std::memory_order_release);
                return position;
            }
            if (static_cast<std::int32_t>(turn - round(position)) < 0) return std::nullopt;  // not read yet: full
            position = next_.load(std::memory_order_relaxed);
        }
        return std::nullopt;
    }

    /// Collector only: calls take(report) for all that have been reported, oldest first.
    template <class Take>
    void take(const Take& take) {
        while (cells_ != nullptr) {
            Cell& cell = cells_[taken_ % capacity];
            if (cell.turn.load(std::memory_order_acquire) != round(taken_) + 1) return;
            take(cell.report);
            cell.turn.store(round(taken_) + 2, std::memory_order_release);
            ++taken_;
        }
    }

    /// A word that is `unread` until what was reported with this number has been taken.
    struct Mark {
        const std::atomic<std::uint32_t>* word;
        std::uint32_t unread;
    };
    Mark mark(std::uint32_t number) const noexcept { return {&cells_[number % capacity].turn, round(number) + 1}; }

private:
    // In round r of the ring a cell may be written when `turn` is 2r, and read when it is 2r + 1.
    struct Cell {
        std::atomic<std::uint32_t> turn;
        Report report;
    };
    static std::uint32_t round(std::uint32_t position) { return position / capacity * 2; }

    MemoryMap memory_;       // zeros, and only what is used takes up memory
    Cell* cells_ = nullptr;  // null: no memory
    std::atomic<std::uint32_t> next_{0};
    std::uint32_t taken_ = 0;
};

}  // namespace flameprobe
