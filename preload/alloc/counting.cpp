#include "counting.hpp"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "base/clock.hpp"
#include "capture/handler/stack_copy.hpp"
#include "cpu/signal_frame.hpp"
#include "memory.hpp"

namespace flameprobe::alloc {

constinit thread_local Record* own_record = nullptr;

namespace {

// Of threads of ours, and of host threads while code of ours runs in them.
constinit Record exempt_record{.left = far_away};
__attribute__((tls_model("initial-exec"))) constinit thread_local Record* set_aside = nullptr;
__attribute__((tls_model("initial-exec"))) constinit thread_local int exempt_depth = 0;
__attribute__((tls_model("initial-exec"))) constinit thread_local int rounds = 0;  // of the destructors at its end

constinit pthread_key_t at_end;
constinit bool has_key = false;

// Destructors of keys may set keys again, and are called again then, in rounds: ours waits for the last. What the
// thread allocates afterwards is counted without a record.
void thread_ends(void* given) {
    if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
        ::pthread_setspecific(at_end, given);
        return;
    }
    rounds = INT_MAX / 2;
    Record* const record = exempt_depth != 0 ? set_aside : own_record;
    (exempt_depth != 0 ? set_aside : own_record) = nullptr;
    State* const state = ready_state();
    // A forked child does not own its parent's.
    if (state != nullptr && record != nullptr && record != &exempt_record &&
        record->owner.load(std::memory_order_relaxed) != 0)
        give_back_record(*state, record);
}

/// The process's where a filter may kill for the question.
uint32_t own_tid(const State& state) noexcept {
    return state.samples.silent.load(std::memory_order_relaxed)
               ? static_cast<uint32_t>(state.samples.pid)
               : static_cast<uint32_t>(handler::system_call(SYS_gettid));
}

bool take_record(State& state) noexcept {
    if (rounds >= PTHREAD_DESTRUCTOR_ITERATIONS) return false;
    Record* const record = claim_record(state, own_tid(state));
    if (record == nullptr) return false;
    own_record = record;
    if (has_key) ::pthread_setspecific(at_end, record);
    return true;
}

/// Makes the bytes from the last draw on count, and draws again.
void draw(const State& state, Record& record) noexcept {
    record.version.fetch_add(1, std::memory_order_acq_rel);
    const auto left = static_cast<uint64_t>(bytes_to_next(record.random, state.mean));
    record.offset += left - record.left;
    record.left = left;
    record.version.fetch_add(1, std::memory_order_release);
}

void lose(State& state, size_t size) noexcept {
    LostSamples& lost = state.lost[State::size_class(size)];
    lost.number.fetch_add(1, std::memory_order_relaxed);
    lost.bytes.fetch_add(size, std::memory_order_relaxed);
}

/// Null: another sample stands for this one, or there is no room. Cells are few until there is a collector, which may
/// never come.
handler::CellHead* claim_cell(State& state, size_t size, uint64_t random) noexcept {
    constexpr uint32_t most_unattended = 256;
    handler::SamplePool& pool = state.samples.pool;
    uint32_t room = pool.count();
    if (!state.attended.load(std::memory_order_relaxed)) {
        state.unattended.store(true, std::memory_order_relaxed);
        if (room > most_unattended) room = most_unattended;
    }
    handler::CellHead* const cell = pool.claim();
    const uint32_t in_use = cell == nullptr ? room : pool.index(cell);
    if (in_use < room) {
        cell->stands_for = stands_for(in_use, room);
        if (random % cell->stands_for == 0) return cell;
    } else {
        lose(state, size);
    }
    if (cell != nullptr) pool.release(in_use);
    return nullptr;
}

/// The stack is known by the collector's proof, once it has seen a sample of the thread.
handler::OwnStack own_stack(const Record* record) noexcept {
    if (record == nullptr || record->stack_of.load(std::memory_order_acquire) != record->claims) return {};
    return {record->stack_low.load(std::memory_order_relaxed), record->stack_high.load(std::memory_order_relaxed)};
}

/// The collector must have the cell before the table has the address, which another thread may free at once.
void take_sample(State& state, const Record* record, void* address, size_t size, uint32_t tid, uint64_t random,
                 Kind kind) noexcept {
    handler::CellHead* const cell = claim_cell(state, size, splitmix64(random ^ 0x5bd1e995));  // it drew, too
    if (cell == nullptr) return;
    const uint64_t id = state.tracks_frees ? state.last_id.fetch_add(1, std::memory_order_relaxed) + 1 : 0;
    cell->time_ns = now_ns(state);
    cell->weight = size;
    cell->tid = tid;
    cell->slot = record == nullptr ? no_record : static_cast<uint32_t>(record - state.records);
    cell->generation = record == nullptr ? 0 : record->claims;
    cell->allocation = id;
    cell->mapped_at = kind == Kind::mapping ? reinterpret_cast<uintptr_t>(address) : 0;
    if (kind == Kind::mapping && id != 0) state.has_mappings.store(true, std::memory_order_relaxed);
    cell->has_registers = true;
    cell->in_system_call = false;
    cpu::own_registers(cell->registers);
    cell->stack_bytes = static_cast<uint32_t>(copy_stack(state.samples, own_stack(record), cell->registers.sp(),
                                                         handler::SamplePool::stack(cell), state.samples.stack_bytes));
    state.samples.pool.publish(cell);
    if (id == 0 || kind == Kind::mapping) return;
    // What was alive there was freed by a way that is not seen.
    if (asked_about.may_have(address)) Leaving(address).is_gone();
    asked_about.add(address);
    if (state.live.insert(reinterpret_cast<uintptr_t>(address), id)) return;
    asked_about.remove(address);
    state.untracked.fetch_add(1, std::memory_order_relaxed);
}

/// Of a thread without a record each allocation is drawn for by itself, which comes to the same.
void count_loose(State& state, void* address, size_t size, Kind kind) noexcept {
    if (address == nullptr) return;
    const cpu::PlainFloats floats;
    state.loose_calls.fetch_add(1, std::memory_order_relaxed);
    state.loose_bytes.fetch_add(size, std::memory_order_relaxed);
    uint64_t random = splitmix64(state.loose_random.fetch_add(1, std::memory_order_relaxed) ^
                                 reinterpret_cast<uintptr_t>(address) << 20);
    if (static_cast<uint64_t>(bytes_to_next(random, state.mean)) <= size && state.on.load(std::memory_order_relaxed))
        take_sample(state, nullptr, address, size, own_tid(state), random, kind);
}

}  // namespace

bool is_due(size_t size) noexcept {
    const cpu::PlainFloats floats;  // the distance to the next sample is computed with them
    Record* record = own_record;
    if (record == &exempt_record) {
        record->left = far_away;
        return false;
    }
    State* const state = ready_state();
    if (state == nullptr) {  // in a forked child, whose memory another thread is making
        if (record != nullptr) record->left = 0;
        return false;
    }
    if (record == nullptr || record->owner.load(std::memory_order_relaxed) == 0) {
        own_record = nullptr;
        if (!take_record(*state)) return true;
        record = own_record;
        cpu::add(record->calls, 1);
        if (!cpu::count_down(record->left, size)) return false;
    }
    draw(*state, *record);
    return true;
}

void counted(void* address, size_t size, Kind kind) noexcept {
    State* const state = ready_state();
    if (state == nullptr) return;
    Record* const record = own_record;
    if (record == nullptr) return count_loose(*state, address, size, kind);
    if (address == nullptr) {  // it failed, and does not count
        cpu::add(record->offset, -static_cast<uint64_t>(size));
        cpu::add(record->calls, ~uint64_t{0});
        return;
    }
    if (record->inside || !state->on.load(std::memory_order_relaxed)) return;
    record->inside = true;
    take_sample(*state, record, address, size, record->owner.load(std::memory_order_relaxed), record->random, kind);
    record->inside = false;
}

Leaving::Leaving(void* leaving) noexcept
    : is_early(alloc::is_early(leaving)), address(reinterpret_cast<uintptr_t>(leaving)) {
    State* const shared = is_early || leaving == nullptr ? nullptr : ready_state();
    if (shared != nullptr && shared->tracks_frees) node = shared->live.take(address);
}

void Leaving::is_gone() noexcept {
    if (node == 0) return;
    State* const shared = ready_state();
    asked_about.remove(reinterpret_cast<void*>(address));
    shared->live.freed(node, now_ns(*shared));
}

void Leaving::stays() noexcept {
    if (node == 0) return;
    State* const shared = ready_state();
    if (!shared->live.put(address, node)) shared->untracked.fetch_add(1, std::memory_order_relaxed);
}

Unmapping::Unmapping(const void* at, size_t size) noexcept {
    State* const shared = size == 0 ? nullptr : ready_state();
    if (shared == nullptr || !shared->has_mappings.load(std::memory_order_relaxed)) return;
    state = shared;
    what = {reinterpret_cast<uintptr_t>(at), now_ns(*shared), size};
}

void Unmapping::is_done(const void* moved_to) noexcept {
    if (state == nullptr) return;
    what.moved_to = reinterpret_cast<uintptr_t>(moved_to);
    if (!state->live.unmapped(what)) state->untracked.fetch_add(1, std::memory_order_relaxed);
}

bool is_exempt() noexcept { return own_record == &exempt_record; }

void exempt_this_thread(int begin) noexcept {
    if (begin != 0) {
        if (exempt_depth++ != 0) return;
        set_aside = own_record;
        own_record = &exempt_record;
    } else if (exempt_depth > 0 && --exempt_depth == 0) {
        own_record = set_aside;
    }
}

void prepare() noexcept {
    exempt_this_thread(1);  // the dynamic linker allocates
    look_up_the_rest();
    look_up_operators();
    use_clock(find_vdso_clock());
    ::dlerror();  // the host's next question is not answered by ours
    exempt_this_thread(0);
    has_key = ::pthread_key_create(&at_end, thread_ends) == 0;
    if (has_key && own_record != nullptr) ::pthread_setspecific(at_end, own_record);
    const State* const state = ready_state();
    if (state != nullptr && !state->tracks_frees) stop_asking();
}

}  // namespace flameprobe::alloc
