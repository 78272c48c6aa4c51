#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/clock.hpp"
#include "capture/handler/handler.hpp"
#include "capture/handler/raw_system_call.hpp"

namespace flameprobe::handler {
namespace {

bool blocks(int signal) noexcept {
    std::uint64_t mask = 0;
    system_call(SYS_rt_sigprocmask, long{SIG_BLOCK}, 0L, &mask, 8L);
    return (mask >> (signal - 1) & 1) != 0;
}

// A new thread has no alternate stack (clone(2)), unless a library set one before the start routine. So ours is set
// without asking, and set back if it replaced another: one system call for nearly all threads.
void use_alternate_stack(const State& state, ThreadSlot& slot) noexcept {
    map_alternate_stack(state, slot);
    const std::uint64_t base = slot.alternate.load(std::memory_order_relaxed);
    if (base == 0) return;
    const stack_t ours{reinterpret_cast<void*>(base), 0, alternate_stack_bytes};
    stack_t before{};
    if (system_call(SYS_sigaltstack, &ours, &before) != 0) return;
    if ((before.ss_flags & SS_DISABLE) == 0) system_call(SYS_sigaltstack, &before, 0L);
}

// All but the generation and the alternate stack, which outlive a slot's threads.
void clear(ThreadSlot& slot) noexcept {
    slot.timer = -1;
    slot.attached_ns = 0;
    slot.masked = slot.by_itself = slot.duplicate = false;
    slot.all.store(false, std::memory_order_relaxed);
    for (char& character : slot.name) character = 0;
    slot.weight = {};
    slot.noticed_ns.store(0, std::memory_order_relaxed);
    slot.dropped.store(0, std::memory_order_relaxed);
    slot.user_ns.store(0, std::memory_order_relaxed);
    slot.stack_low.store(~std::uint64_t{0}, std::memory_order_relaxed);
    slot.stack_high.store(0, std::memory_order_relaxed);
    slot.control_block.store(0, std::memory_order_relaxed);
}

void raise(std::atomic<std::uint32_t>& mark, std::uint32_t least) noexcept {
    std::uint32_t now = mark.load(std::memory_order_relaxed);
    while (now < least &&
           !mark.compare_exchange_weak(now, least, std::memory_order_release, std::memory_order_relaxed)) {
    }
}

}  // namespace

std::uint32_t claim_slot(State& state, std::uint32_t tid) noexcept {
    const std::uint32_t start = state.hint.load(std::memory_order_relaxed);
    for (std::uint32_t i = start; i < state.slot_count; ++i) {
        std::uint32_t owner = state.owners[i].load(std::memory_order_relaxed);
        if (owner != 0) continue;
        raise(state.used, i + 1);
        // Acquire: partner of the collector's release when it freed the slot.
        if (state.owners[i].compare_exchange_strong(owner, tid, std::memory_order_acq_rel, std::memory_order_relaxed)) {
            std::uint32_t expected = start;
            state.hint.compare_exchange_strong(expected, i + 1, std::memory_order_relaxed);
            clear(state.slots[i]);
            return i;
        }
    }
    return state.slot_count;
}

void read_timer_limit(State& state) noexcept {
    rlimit limit{};
    if (system_call(SYS_prlimit64, 0L, long{RLIMIT_SIGPENDING}, 0L, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return;
    const std::uint64_t half = limit.rlim_cur / 2;
    state.most_timers.store(half - (half < state.others_pending ? half : state.others_pending),
                            std::memory_order_relaxed);
}

int make_timer(State& state, std::uint32_t index) noexcept {
    ThreadSlot& slot = state.slots[index];
    if (state.timers_made.fetch_add(1, std::memory_order_relaxed) >=
        state.most_timers.load(std::memory_order_relaxed)) {
        state.timers_made.fetch_sub(1, std::memory_order_relaxed);
        return EAGAIN;
    }
    const std::uint32_t tid = state.owners[index].load(std::memory_order_relaxed);
    const Token token{secret(0), static_cast<std::uint16_t>(slot.generation), static_cast<std::uint16_t>(index)};
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = state.signal;
    event.sigev_value.sival_ptr = reinterpret_cast<void*>(token.pack());
    event._sigev_un._tid = static_cast<pid_t>(tid);  // sigev_notify_thread_id, a name glibc does not have
    std::int32_t timer = -1;
    const long result = system_call(SYS_timer_create, long{thread_cpu_clock(tid)}, &event, &timer);
    slot.timer = result == 0 ? timer : -1;
    if (result != 0) state.timers_made.fetch_sub(1, std::memory_order_relaxed);
    return static_cast<int>(-result);
}

int arm_timer(const State& state, const ThreadSlot& slot, bool on) noexcept {
    constexpr timespec interval{0, timer_interval_ns};
    const itimerspec when = on ? itimerspec{interval, interval} : itimerspec{};
    if (on && state.yielded.load(std::memory_order_seq_cst)) return 0;
    return static_cast<int>(-system_call(SYS_timer_settime, long{slot.timer}, 0L, &when, 0L));
}

void delete_timer(State& state, ThreadSlot& slot) noexcept {
    if (slot.timer < 0) return;
    system_call(SYS_timer_delete, long{slot.timer});
    slot.timer = -1;
    state.timers_made.fetch_sub(1, std::memory_order_relaxed);
}

void map_alternate_stack(const State& state, ThreadSlot& slot) noexcept {
    if (slot.alternate.load(std::memory_order_relaxed) != 0) return;
    const std::size_t guard = state.page_bytes;
    const long at = system_call(SYS_mmap, 0L, alternate_stack_bytes + guard, long{PROT_READ | PROT_WRITE},
                                long{MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE}, -1L, 0L);
    if (at < 0 && at > -4096) return;
    system_call(SYS_mprotect, at, guard, long{PROT_NONE});
    slot.alternate.store(static_cast<std::uint64_t>(at) + guard, std::memory_order_release);
}

void attach_this_thread() noexcept {
    const Visit visit;
    State* const state = visit.state();
    if (state == nullptr || !state->sampling.load(std::memory_order_relaxed)) return;
    const auto tid = static_cast<std::uint32_t>(system_call(SYS_gettid));
    const std::uint32_t index = claim_slot(*state, tid);
    if (index == state->slot_count) return;
    ThreadSlot& slot = state->slots[index];
    slot.masked = blocks(state->signal);
    slot.by_itself = true;
    if (!state->kernel_only) system_call(SYS_prctl, long{PR_GET_NAME}, slot.name);  // else perf's records have it
    use_alternate_stack(*state, slot);
    read_timer_limit(*state);
    if (make_timer(*state, index) == 0 && slot.timer >= 0 && !slot.masked) arm_timer(*state, slot, true);
    slot.ready.store(1, std::memory_order_release);
}

bool yield_signal(int signal, bool may_call) noexcept {
    const Visit visit;
    State* const state = visit.state();
    if (state == nullptr || !state->sampling.load(std::memory_order_relaxed) || state->signal != signal) return true;
    if (!may_call) return false;
    // Before the loop over the timers: a thread that arms one meanwhile sees this, or the loop sees its timer.
    state->yielded.store(true, std::memory_order_seq_cst);
    for (std::uint32_t i = 0; i < state->slot_count; ++i) {
        const ThreadSlot& slot = state->slots[i];
        if (state->owners[i].load(std::memory_order_acquire) == 0 || slot.timer < 0) continue;
        const itimerspec never{};
        system_call(SYS_timer_settime, long{slot.timer}, 0L, &never, 0L);
    }
    return true;
}

bool gave_stack(std::uintptr_t base) noexcept {
    const Visit visit;
    const State* const state = visit.state();
    if (state == nullptr) return false;
    const std::uint32_t used = state->used.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < used; ++i) {
        if (state->slots[i].alternate.load(std::memory_order_relaxed) == base) return true;
    }
    return false;
}

void expect_filter() noexcept {
    const Visit visit;
    State* const state = visit.state();
    if (state == nullptr) return;
    if (state->has_thread_pointer) {
        const auto tid = static_cast<std::uint32_t>(system_call(SYS_gettid));
        const std::uint32_t index = state->slot_of(tid);
        // The stack's range is needed most from now on: the collector finds it by the control block.
        if (index != state->slot_count)
            state->slots[index].control_block.store(cpu::thread_pointer(), std::memory_order_relaxed);
    }
    state->may_call.store(false, std::memory_order_relaxed);
    state->silent.store(true, std::memory_order_release);
}

}  // namespace flameprobe::handler
