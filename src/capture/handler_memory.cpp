#include "capture/handler_memory.hpp"

#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <new>

#include "base/clock.hpp"
#include "base/deadline.hpp"
#include "base/hash.hpp"
#include "cpu/instructions.hpp"

namespace flameprobe {
namespace {

std::uint64_t random_seed() {
    std::uint64_t seed = 0;
    if (::getrandom(&seed, sizeof seed, GRND_NONBLOCK) == sizeof seed) return seed;
    return splitmix64(monotonic_ns() ^ static_cast<std::uint64_t>(::getpid()) << 32);
}

}  // namespace

// Remembered, since sysconf reads files for it: forked children need not read them again.
std::uint64_t cpu_count() {
    static constinit std::atomic<long> configured{0};
    if (configured == 0) configured = std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF));
    return static_cast<std::uint64_t>(configured);
}

// Large cells are fewer: the collector then drains more often (CaptureFacts::fill_ns).
Result<HandlerMemory> HandlerMemory::make(const Size& wanted) {
    constexpr std::uint32_t least_cells = 32, most_bytes = 64 << 20;
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const auto round_up = [page](std::size_t bytes) { return (bytes + page - 1) & ~(page - 1); };
    Size size = wanted;
    size.cells = std::min(size.cells, std::max(least_cells, most_bytes / std::max(size.stack_bytes, 1u)));
    const std::size_t cell_bytes = (sizeof(handler::CellHead) + size.stack_bytes + 63) & ~std::size_t{63};
    const std::size_t head = round_up(sizeof(handler::State));
    const std::size_t owners = round_up(size.slots * sizeof(std::atomic<std::uint32_t>));
    const std::size_t slots = round_up(size.slots * sizeof(handler::ThreadSlot));
    const std::size_t states = round_up(size.cells * sizeof(std::atomic<std::uint32_t>));
    const std::size_t total = head + owners + slots + states + round_up(size.cells * cell_bytes);
    MemoryMap map = MemoryMap::reserve(total);
    if (!map) {
        return Error{"no memory for the samples of the handler (" + std::to_string(total >> 10) +
                     " KiB): raise the address space limit (ulimit -v) or lower FLAMEPROBE_STACK"};
    }
    void* const memory = map.data();
    HandlerMemory made{std::move(map)};
    // A huge page is cleared on first touch, which may be in a handler; and most cells are never used.
    ::madvise(memory, total, MADV_NOHUGEPAGE);
    ::madvise(memory, total, MADV_WIPEONFORK);

    auto* const base = static_cast<std::byte*>(memory);
    auto* const state = new (base) handler::State;
    state->owners = reinterpret_cast<std::atomic<std::uint32_t>*>(base + head);
    state->slots = reinterpret_cast<handler::ThreadSlot*>(base + head + owners);
    state->slot_count = size.slots;
    auto* const cell_states = reinterpret_cast<std::atomic<std::uint32_t>*>(base + head + owners + slots);
    std::byte* const cells = base + head + owners + slots + states;
    state->pool = handler::SamplePool(cell_states, cells, size.cells, static_cast<std::uint32_t>(cell_bytes));
    state->stack_bytes = size.stack_bytes;
    state->page_bytes = static_cast<std::uint32_t>(page);
    state->pid = ::getpid();
    state->seed = random_seed();
    state->clock = find_vdso_clock();
    state->has_thread_pointer = cpu::has_thread_pointer();
    handler::secret(static_cast<std::uint32_t>(random_seed() >> 32));
    made.state_ = state;
    handler::publish(state);
    return made;
}

HandlerMemory::HandlerMemory(HandlerMemory&& other) noexcept
    : map_(std::move(other.map_)), state_(std::exchange(other.state_, nullptr)) {}

HandlerMemory::~HandlerMemory() {
    if (state_ == nullptr) return;
    handler::withdraw(state_);
    // A child of fork, whose copy of this memory the kernel wiped, inherits the count of the handlers that ran in its
    // parent's other threads, but not the handlers. A host's filter may forbid to ask for the process's id.
    if (state_->is_parents()) {
        handler::forget_parent();
        return;
    }
    if (!wait_quiet()) new (std::nothrow) MemoryMap(std::move(map_));
}

std::uint64_t HandlerMemory::bytes_in_use(std::uint32_t cells, std::size_t slots) const noexcept {
    const std::size_t cell_bytes = sizeof(handler::CellHead) + state_->stack_bytes;
    return sizeof(handler::State) + cells * (cell_bytes + sizeof(std::atomic<std::uint32_t>)) +
           slots * (sizeof(handler::ThreadSlot) + sizeof(std::atomic<std::uint32_t>));
}

bool HandlerMemory::wait_quiet() {
    for (const Deadline deadline(100 * ns_per_ms); !handler::quiet();) {
        if (deadline.over()) return false;
        const timespec pause{0, 1'000'000};
        ::nanosleep(&pause, nullptr);
    }
    return true;
}

}  // namespace flameprobe
