#include "memory.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <new>

#include "base/number.hpp"
#include "capture/handler/raw_system_call.hpp"
#include "cpu/instructions.hpp"

namespace flameprobe::alloc {
namespace {

using handler::system_call;

/// What the environment says, before anything of ours but this library runs.
struct Wanted {
    bool on = true;              // FLAMEPROBE_EVENT has alloc or heap, and FLAMEPROBE_START is not 0
    bool tracks_frees = false;   // FLAMEPROBE_EVENT has heap
    uint64_t mean = 512 * 1024;  // FLAMEPROBE_ALLOC_BYTES
    uint32_t stack_bytes = 60 * 1024;
};

const char* value_of(const char* name) noexcept {
    const size_t length = strlen(name);
    for (char** line = environ; line != nullptr && *line != nullptr; ++line)
        if (strncmp(*line, name, length) == 0 && (*line)[length] == '=') return *line + length + 1;
    return nullptr;
}

bool has_item(const char* list, const char* item) noexcept {
    const size_t length = strlen(item);
    while (list != nullptr) {
        const char* const end = strchrnul(list, ',');
        if (static_cast<size_t>(end - list) == length && strncmp(list, item, length) == 0) return true;
        list = *end == ',' ? end + 1 : nullptr;
    }
    return false;
}

/// `otherwise` for what the core, which reads it too, calls wrong.
uint64_t quantity_of(const char* name, std::initializer_list<Unit> units, uint64_t least, uint64_t most,
                     uint64_t otherwise) noexcept {
    const char* const text = value_of(name);
    const auto value = text != nullptr ? quantity_in(text, units, most) : std::nullopt;
    return value && *value >= least ? *value : otherwise;
}

Wanted read_environment() noexcept {
    Wanted wanted;
    const char* const start = value_of("FLAMEPROBE_START");
    const char* const events = value_of("FLAMEPROBE_EVENT");
    wanted.tracks_frees = has_item(events, "heap");
    wanted.on = (start == nullptr || strcmp(start, "0") != 0) && (wanted.tracks_frees || has_item(events, "alloc"));
    wanted.mean = quantity_of("FLAMEPROBE_ALLOC_BYTES", {{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"", 1}}, 1,
                              uint64_t{1} << 40, wanted.mean);
    wanted.stack_bytes =
        static_cast<uint32_t>(quantity_of("FLAMEPROBE_STACK", {{"", 1}}, 1024, 1 << 20, wanted.stack_bytes)) & ~7U;
    return wanted;
}

constexpr std::size_t most_cell_bytes = std::size_t{64} << 20;
constexpr std::uint32_t most_cells = 2048, record_count = 1 << 16, live_count = 1 << 17;

struct Layout {
    explicit Layout(const Wanted& wanted)
        : cell_bytes((sizeof(handler::CellHead) + wanted.stack_bytes + 63) & ~std::size_t{63}),
          cells(static_cast<std::uint32_t>(most_cell_bytes / cell_bytes < most_cells ? most_cell_bytes / cell_bytes
                                                                                     : most_cells)),
          records(whole_pages(sizeof(State))),
          slots(records + whole_pages(record_count * sizeof(Record))),
          nodes(slots + whole_pages(live_count * sizeof(LiveTable::Slot))),
          cell_states(nodes + whole_pages(live_count * sizeof(LiveTable::Node))),
          first_cell(cell_states + whole_pages(cells * sizeof(std::atomic<std::uint32_t>))),
          all(first_cell + whole_pages(cells * cell_bytes)) {}
    std::size_t cell_bytes;
    std::uint32_t cells;
    std::size_t records, slots, nodes, cell_states, first_cell, all;
};

constinit Wanted wanted{};  // a program may clear its environment, and then fork
constinit std::atomic<State*> shared{nullptr};
constinit std::atomic<bool> refused{false}, silent{false};
constinit std::atomic<handler::State::ClockFunction> vdso_clock{nullptr};

State* map_memory() noexcept {
    if (refused.load(std::memory_order_relaxed) || environ == nullptr)
        return nullptr;  // not before the C library has begun, as a sanitizer does
    wanted = read_environment();
    const std::size_t size = Layout(wanted).all;
    const long at = system_call(SYS_mmap, 0L, size, long{PROT_READ | PROT_WRITE},
                                long{MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE}, -1L, 0L);
    if (at < 0 && at > -4096) {
        refused.store(true, std::memory_order_relaxed);
        return nullptr;
    }
    system_call(SYS_madvise, at, size, long{MADV_NOHUGEPAGE});
    system_call(SYS_madvise, at, size, long{MADV_WIPEONFORK});
    State* expected = nullptr;
    auto* const mine = reinterpret_cast<State*>(at);
    if (shared.compare_exchange_strong(expected, mine, std::memory_order_acq_rel)) return mine;
    system_call(SYS_munmap, at, size);
    return expected;
}

/// Whether no filter is in force for the thread, which might kill for a call of ours (proc(5)).
bool may_call_freely() noexcept {
    const long file = system_call(SYS_openat, long{AT_FDCWD}, "/proc/thread-self/status", long{O_RDONLY | O_CLOEXEC});
    if (file < 0) return false;
    char text[4096];
    const long size = system_call(SYS_read, file, text, sizeof text - 1);
    system_call(SYS_close, file);
    text[size > 0 ? size : 0] = 0;
    const char* const mode = strstr(text, "\nSeccomp:\t");
    return mode != nullptr && mode[10] == '0';
}

// The memory is all zeros, which is what the members that are not named here begin with.
void fill(State& state) noexcept {
    const Layout layout(wanted);
    auto* const base = reinterpret_cast<std::byte*>(&state);
    state.on.store(wanted.on, std::memory_order_relaxed);
    state.tracks_frees = wanted.tracks_frees;
    state.bytes = layout.all;
    state.mean = wanted.mean;
    state.records = reinterpret_cast<Record*>(base + layout.records);
    state.record_count = record_count;
    new (&state.live) LiveTable(reinterpret_cast<LiveTable::Slot*>(base + layout.slots),
                                reinterpret_cast<LiveTable::Node*>(base + layout.nodes), live_count);
    new (&state.samples) handler::State;
    state.samples.pool =
        handler::SamplePool(reinterpret_cast<std::atomic<std::uint32_t>*>(base + layout.cell_states),
                            base + layout.first_cell, layout.cells, static_cast<std::uint32_t>(layout.cell_bytes));
    const bool quiet = silent.load(std::memory_order_relaxed);
    state.samples.silent.store(quiet, std::memory_order_relaxed);
    state.samples.may_call.store(!quiet && may_call_freely(), std::memory_order_relaxed);
    state.samples.stack_bytes = wanted.stack_bytes;
    state.samples.pid = quiet ? -1 : static_cast<std::int32_t>(system_call(SYS_getpid));
}

}  // namespace

State* ready_state() noexcept {
    constexpr std::uint32_t being_made = 1, made = 2;
    State* state = shared.load(std::memory_order_acquire);
    if (state == nullptr) state = map_memory();
    if (state == nullptr || state->ready.load(std::memory_order_acquire) == made) return state;
    std::uint32_t empty = 0;
    if (!state->ready.compare_exchange_strong(empty, being_made, std::memory_order_acquire)) return nullptr;
    fill(*state);
    state->ready.store(made, std::memory_order_release);
    return state;
}

void go_silent() noexcept {
    silent.store(true, std::memory_order_relaxed);
    State* const state = ready_state();
    if (state == nullptr) return;
    state->samples.silent.store(true, std::memory_order_relaxed);
    state->samples.may_call.store(false, std::memory_order_relaxed);
}

void use_clock(handler::State::ClockFunction clock) noexcept { vdso_clock.store(clock, std::memory_order_relaxed); }

std::uint64_t now_ns(const State& state) noexcept {
    timespec time{};
    const auto clock = vdso_clock.load(std::memory_order_relaxed);
    const bool silent =
        state.samples.silent.load(std::memory_order_relaxed);  // the fine clock's instruction is a fault
    const clockid_t kind = silent ? CLOCK_MONOTONIC_COARSE : CLOCK_MONOTONIC;
    if ((clock == nullptr || clock(kind, &time) != 0) && !silent) system_call(SYS_clock_gettime, long{kind}, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

namespace {

void begin_thread(Record& record) noexcept {
    record.control_block.store(cpu::has_thread_pointer() ? cpu::thread_pointer() : 0, std::memory_order_relaxed);
    ++record.claims;  // 0 is no thread's
}

}  // namespace

Record* claim_record(State& state, std::uint32_t tid) noexcept {
    std::uint64_t head = state.free_records.load(std::memory_order_acquire);
    while ((head & 0xffffffff) != 0) {
        Record* const record = &state.records[(head & 0xffffffff) - 1];
        const std::uint64_t rest = ((head >> 32) + 1) << 32 | record->next_free;
        if (!state.free_records.compare_exchange_weak(head, rest, std::memory_order_acq_rel)) continue;
        begin_thread(*record);
        record->owner.store(tid, std::memory_order_release);
        return record;
    }
    if (state.records_used.load(std::memory_order_relaxed) >= state.record_count) return nullptr;
    const std::uint32_t index = state.records_used.fetch_add(1, std::memory_order_acq_rel);
    if (index >= state.record_count) return nullptr;
    Record* const record = &state.records[index];
    record->calls = 0;  // a forked child's thread may have counted in it before it saw that it has none
    record->random = splitmix64(std::uint64_t{tid} << 32 ^ now_ns(state) ^ std::uint64_t{index} << 48);
    record->left = static_cast<std::uint64_t>(bytes_to_next(record->random, state.mean));
    record->offset = record->left;
    begin_thread(*record);
    record->owner.store(tid, std::memory_order_release);
    return record;
}

void give_back_record(State& state, Record* record) noexcept {
    const auto index = static_cast<std::uint32_t>(record - state.records) + 1;
    record->owner.store(0, std::memory_order_relaxed);
    std::uint64_t head = state.free_records.load(std::memory_order_relaxed);
    std::uint64_t mine = 0;
    do {
        record->next_free = static_cast<std::uint32_t>(head);
        mine = ((head >> 32) + 1) << 32 | index;
    } while (!state.free_records.compare_exchange_weak(head, mine, std::memory_order_acq_rel));
}

}  // namespace flameprobe::alloc
