#include "collect/ended_threads.hpp"

#include <sys/mman.h>

namespace flameprobe {

EndedThreads::EndedThreads() {
    memory_ = MemoryMap::reserve(capacity * sizeof(Cell));
    cells_ = reinterpret_cast<Cell*>(memory_.data());
}

void EndedThreads::report(const EndedThread& thread) noexcept {
    std::uint32_t position = next_.load(std::memory_order_relaxed);
    while (cells_ != nullptr) {
        Cell& cell = cells_[position % capacity];
        // Acquire: partner of the collector's release when it has read the cell.
        const std::uint32_t turn = cell.turn.load(std::memory_order_acquire);
        if (turn == round(position)) {
            if (!next_.compare_exchange_weak(position, position + 1, std::memory_order_relaxed)) continue;
            cell.thread = thread;
            cell.turn.store(turn + 1, std::memory_order_release);
            return;
        }
        if (static_cast<std::int32_t>(turn - round(position)) < 0) return;  // not read yet: full
        position = next_.load(std::memory_order_relaxed);
    }
}

void EndedThreads::take(std::vector<EndedThread>& out) {
    while (cells_ != nullptr) {
        Cell& cell = cells_[taken_ % capacity];
        if (cell.turn.load(std::memory_order_acquire) != round(taken_) + 1) return;
        out.push_back(cell.thread);
        cell.turn.store(round(taken_) + 2, std::memory_order_release);
        ++taken_;
    }
}

}  // namespace flameprobe
