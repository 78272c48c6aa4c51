// Passings of requests (flameprobe/request.h), timed: see capture/passings.hpp. All of it is async-signal-safe.
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/clock.hpp"
#include "capture/passings.hpp"
#include "interpose.hpp"
#include "parts.hpp"

namespace flameprobe {
namespace {

using namespace passings;

constinit State state{};
// `mine`: the thread's chunk is pool->chunks[mine - 1]; 0: it has none.
__attribute__((tls_model("initial-exec"))) constinit thread_local uint32_t mine = 0, own_tid = 0;

uint64_t reading(Clock clock) { return clock == Clock::counter ? cpu::counter() | 1 : monotonic_ns() & ~uint64_t{1}; }

Pool* get_pool() {
    Pool* pool = state.pool.load(std::memory_order_acquire);
    if (pool != nullptr || state.quiet.load(std::memory_order_relaxed)) return pool;
    const long memory = handler::system_call(SYS_mmap, 0L, sizeof(Pool), long{PROT_READ | PROT_WRITE},
                                             long{MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE}, -1L, 0L);
    if (memory < 0 && memory > -4096) return nullptr;
    auto* const made = reinterpret_cast<Pool*>(memory);  // zeros are an empty pool
    if (state.pool.compare_exchange_strong(pool, made, std::memory_order_acq_rel)) return made;
    handler::system_call(SYS_munmap, made, sizeof(Pool));
    return pool;
}

/// In place of the chunk `full`, or of none: null if there is no other.
Chunk* take_chunk(Pool& pool, uint32_t full) {
    if (own_tid == 0 && state.quiet.load(std::memory_order_relaxed)) return nullptr;
    if (own_tid == 0) own_tid = static_cast<uint32_t>(handler::system_call(SYS_gettid));
    uint32_t at = pool.free_hint.load(std::memory_order_relaxed);
    for (uint32_t tries = 0; tries < Pool::size; ++tries, at = (at + 1) % Pool::size) {
        Chunk& chunk = pool.chunks[at];
        uint32_t owner = chunk.owner.load(std::memory_order_relaxed);
        if (owner != 0 || !chunk.owner.compare_exchange_strong(owner, own_tid, std::memory_order_acquire)) continue;
        pool.free_hint.store((at + 1) % Pool::size, std::memory_order_relaxed);
        // A handler may have taken one meanwhile.
        if (__atomic_compare_exchange_n(&mine, &full, at + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            if (full != 0) pool.chunks[full - 1].dropped.store(1, std::memory_order_release);
            return &chunk;
        }
        chunk.owner.store(0, std::memory_order_release);
        return &pool.chunks[mine - 1];
    }
    return nullptr;
}

bool add(Pool& pool, const Entry& passing, uint32_t what) {
    uint32_t index = mine;
    Chunk* chunk = index != 0 ? &pool.chunks[index - 1] : take_chunk(pool, 0);
    while (chunk != nullptr) {
        // In one step, since a handler of this thread may come in between.
        const uint32_t at = chunk->claimed.fetch_add(1, std::memory_order_relaxed);
        if (at < Chunk::size) {
            Entry& entry = chunk->entries[at];
            entry.begin = passing.begin, entry.end = passing.end, entry.tid = own_tid;
            entry.what.store(what, std::memory_order_release);
            return true;
        }
        index = static_cast<uint32_t>(chunk - pool.chunks) + 1;
        chunk = take_chunk(pool, index);
    }
    return false;
}

/// In 2^-32 ns, also before the collector has said it; 0: not known.
uint64_t tick_ns() {
    const uint64_t told = state.tick_ns.load(std::memory_order_relaxed);
    if (told != 0 || state.quiet.load(std::memory_order_relaxed)) return told;
    const uint64_t ns = monotonic_ns() - state.first_ns.load(std::memory_order_relaxed),
                   ticks = cpu::counter() - state.first_ticks.load(std::memory_order_relaxed);
    constexpr uint64_t least_ns = ns_per_ms, most_ns = 4 * ns_per_second;  // known, and fits
    return ns < least_ns || ns > most_ns ? 0 : (ns << 32) / ticks;
}

void count_beyond(Pool* pool, unsigned label, const Entry& passing, bool failed) {
    const uint64_t took = passing.end - passing.begin;
    const bool by_counter = (passing.begin & 1) != 0;
    const uint64_t tick = by_counter ? tick_ns() : 1;
    if (pool == nullptr || tick == 0) {
        state.untimed.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    const uint64_t ns = by_counter ? ns_of_ticks(took, tick) : took;
    Beyond& beyond = pool->beyond[label];
    beyond.cells[duration_cell(ns)].fetch_add(1, std::memory_order_relaxed);
    beyond.sum_ns.fetch_add(ns, std::memory_order_relaxed);
    if (failed) beyond.failed.fetch_add(1, std::memory_order_relaxed);
    uint64_t longest = beyond.longest_ns.load(std::memory_order_relaxed);
    while (longest < ns && !beyond.longest_ns.compare_exchange_weak(longest, ns, std::memory_order_relaxed)) {
    }
    pool->any_beyond.store(true, std::memory_order_release);
}

}  // namespace

void* passings_state() noexcept { return &state; }

// Where the kernel's clock is read it may be by a system call.
void make_passings_quiet() noexcept {
    state.quiet.store(true, std::memory_order_relaxed);
    Clock kernel = Clock::kernel;
    state.clock.compare_exchange_strong(kernel, Clock::none, std::memory_order_relaxed);
}

void time_no_passings() noexcept {
    state.faults.store(true, std::memory_order_relaxed);
    state.clock.store(Clock::none, std::memory_order_relaxed);
}

// The pool is the parent's, and so is what is in it.
void forget_passings_in_child() noexcept {
    mine = own_tid = 0;
    Pool* const parents = state.pool.exchange(nullptr, std::memory_order_relaxed);
    if (parents != nullptr && !state.quiet.load(std::memory_order_relaxed))
        handler::system_call(SYS_munmap, parents, sizeof(Pool));
}

}  // namespace flameprobe

using namespace flameprobe;

FLAMEPROBE_INTERPOSED uint64_t flameprobe_passing_begin() {
    const Clock clock = state.clock.load(std::memory_order_relaxed);
    return clock == Clock::none ? 0 : reading(clock);
}

FLAMEPROBE_INTERPOSED void flameprobe_passing_end(const char* label, uint64_t begin, int failed) {
    if (begin == 0 || label == nullptr || state.clock.load(std::memory_order_relaxed) == Clock::none) return;
    const Entry passing{begin, reading((begin & 1) != 0 ? Clock::counter : Clock::kernel), 0, {}};
    const unsigned slot = state.names.slot(label);
    Pool* const pool = get_pool();
    if (pool != nullptr && add(*pool, passing, (slot + 1) | (failed != 0 ? failed_bit : 0))) return;
    count_beyond(pool, slot, passing, failed != 0);
}
