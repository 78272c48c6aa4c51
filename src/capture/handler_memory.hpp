#pragma once

#include <cstdint>

#include "base/memory_map.hpp"
#include "base/result.hpp"
#include "capture/handler/state.hpp"

namespace flameprobe {

/// CPUs that the machine is configured for, by which room for samples is measured.
std::uint64_t cpu_count();

/// Owns the memory that handlers work on, and its publication: from make() on they use it, after the destructor they do
/// not. One at a time in a process. Collector thread only.
class HandlerMemory {
public:
    struct Size {
        std::uint32_t stack_bytes = 0;
        std::uint32_t cells = 0;
        std::uint32_t slots = 0;
    };
    static Result<HandlerMemory> make(const Size& size);

    HandlerMemory(HandlerMemory&&) noexcept;
    HandlerMemory& operator=(HandlerMemory&&) = delete;
    /// Waits for handlers that are still running; where one does not end (its thread is stopped by a debugger), the
    /// memory is left behind rather than taken away under it.
    ~HandlerMemory();

    handler::State& state() const noexcept { return *state_; }
    /// Of memory, the rest being address space only, where so many cells and slots were ever used.
    std::uint64_t bytes_in_use(std::uint32_t cells, std::size_t slots) const noexcept;
    /// Waits, at most 100 ms, until no handler is running.
    static bool wait_quiet();

private:
    explicit HandlerMemory(MemoryMap map) : map_(std::move(map)) {}

    MemoryMap map_;
    handler::State* state_ = nullptr;
};

}  // namespace flameprobe
