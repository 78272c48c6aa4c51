#include "capture/handler/handler.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <atomic>

#include "base/clock.hpp"
#include "capture/handler/raw_system_call.hpp"
#include "capture/handler/stack_copy.hpp"
#include "cpu/signal_frame.hpp"

namespace flameprobe::handler {
namespace {

constinit std::atomic<State*> published{nullptr};
// Visits in progress. Sequentially consistent with `published`: either quiet() sees the visit's increment, or the visit
// sees the state that was published before quiet() was called.
constinit std::atomic<std::uint32_t> running{0};
constinit std::atomic<std::uint32_t> process_secret{0};

struct HostAction {
    std::atomic<std::uintptr_t> handler{0};
    std::atomic<int> flags{0};
};
constinit HostAction host_actions[65];
constinit std::atomic<std::uint64_t> taken{0};  // a bit for each signal that our handler was ever installed for

// siginfo_t's _perf member (include/uapi/asm-generic/siginfo.h), which glibc 2.36 lacks: si_perf_data follows si_addr.
constexpr int trap_perf = 6;

enum class Origin { ours, late, foreign };

struct Tick {
    Origin origin = Origin::foreign;
    ThreadSlot* slot = nullptr;
    std::uint32_t slot_index = CellHead::no_slot;
    std::uint64_t expiries = 1;  // of a timer
};

std::uint64_t perf_data(const siginfo_t& info) noexcept {
    return *reinterpret_cast<const std::uint64_t*>(reinterpret_cast<const char*>(&info) + offsetof(siginfo_t, si_addr) +
                                                   8);
}

Tick classify(State* state, const siginfo_t& info) noexcept {
    const bool timer = info.si_code == SI_TIMER;
    if (!timer && !(info.si_signo == SIGTRAP && info.si_code == trap_perf)) return {};
    const auto token =
        Token::unpack(timer ? reinterpret_cast<std::uintptr_t>(info.si_value.sival_ptr) : perf_data(info));
    const std::uint32_t expected = process_secret.load(std::memory_order_relaxed);
    if (expected == 0 || token.secret != expected) return {};
    if (state == nullptr || !state->sampling.load(std::memory_order_relaxed)) return {.origin = Origin::late};
    if (!timer) return {.origin = Origin::ours};
    if (token.slot >= state->slot_count) return {.origin = Origin::late};
    ThreadSlot& slot = state->slots[token.slot];
    if (static_cast<std::uint16_t>(slot.generation) != token.generation) return {.origin = Origin::late};
    return {Origin::ours, &slot, token.slot, 1 + static_cast<std::uint64_t>(info.si_overrun > 0 ? info.si_overrun : 0)};
}

std::uint64_t now(const State& state) noexcept {
    timespec time{};
    const bool silent = state.silent.load(std::memory_order_relaxed);
    const clockid_t clock = silent ? CLOCK_MONOTONIC_COARSE : state.clock_id;
    if ((state.clock == nullptr || state.clock(clock, &time) != 0) && !silent) {
        system_call(SYS_clock_gettime, long{clock}, &time);
    }
    return ns_of(time);
}

bool is_filtered_thread(const State& state) noexcept {
    return state.has_thread_pointer && cpu::thread_pointer() == state.filtered_base.load(std::memory_order_acquire);
}

/// The calling thread's id, for signals of perf events, which name no slot; 0 where a filter may forbid to ask for it.
std::uint32_t own_tid(const State& state) noexcept {
    if (!state.silent.load(std::memory_order_acquire)) return static_cast<std::uint32_t>(system_call(SYS_gettid));
    return is_filtered_thread(state) ? state.filtered_tid.load(std::memory_order_relaxed) : 0;
}

/// The slot that the collector claimed for the calling thread; null if it has not.
const ThreadSlot* slot_of_this_thread(const State& state) noexcept {
    const std::uint32_t tid = own_tid(state), index = tid != 0 ? state.slot_of(tid) : state.slot_count;
    return index != state.slot_count ? &state.slots[index] : nullptr;
}

// rt_sigreturn makes uc_stack the thread's alternate stack (kernel/signal.c, restore_altstack): so a thread
// that was not prepared gets one here, without a system call, and no later signal needs room on a small stack. A main
// thread without one may have no SS_DISABLE in the frame: exec resets the size only.
void give_alternate_stack(const State& state, const ThreadSlot* slot, ucontext_t& context) noexcept {
    stack_t& stack = context.uc_stack;
    if (stack.ss_size != 0 && (stack.ss_flags & SS_DISABLE) == 0) return;
    if (slot == nullptr) slot = slot_of_this_thread(state);
    const std::uint64_t base = slot == nullptr ? 0 : slot->alternate.load(std::memory_order_acquire);
    if (base != 0) stack = {reinterpret_cast<void*>(base), 0, alternate_stack_bytes};
}

/// The calling thread's CPU time, likewise; 0 where a filter may forbid to ask for it.
std::uint64_t own_cpu_ns(const State& state) noexcept {
    timespec time{};
    if (state.silent.load(std::memory_order_acquire) || !state.may_call.load(std::memory_order_relaxed)) return 0;
    system_call(SYS_clock_gettime, long{CLOCK_THREAD_CPUTIME_ID}, &time);
    return ns_of(time);
}

/// The slot of the thread that entered a filter, for signals that name no slot: it may hold the range of its stack.
const ThreadSlot* own_slot(const State& state) noexcept {
    if (!state.silent.load(std::memory_order_acquire) || !is_filtered_thread(state)) return nullptr;
    const std::uint32_t index = state.filtered_slot.load(std::memory_order_relaxed);
    const bool known = index < state.slot_count && state.owners[index].load(std::memory_order_relaxed) ==
                                                       state.filtered_tid.load(std::memory_order_relaxed);
    return known ? &state.slots[index] : nullptr;
}

/// The CPU time for which the tick is sampled: the periods that fall due in it. Those of all threads fall due one after
/// the other, so that together they have no more samples or fewer.
std::uint64_t weight_of(State& state, ThreadSlot& slot, std::uint64_t expiries) noexcept {
    const std::uint64_t elapsed = expiries * timer_interval_ns;
    slot.noticed_ns.fetch_add(elapsed, std::memory_order_relaxed);
    const std::uint64_t weight = slot.weight.nanoseconds(elapsed, state.tick_ns);
    const std::uint64_t begin = state.weighed_ns.fetch_add(weight, std::memory_order_relaxed);
    return periods_due(begin, begin + weight, state.period_ns, state.seed) * state.period_ns;
}

void take_sample(State& state, const Tick& tick, ucontext_t& context) noexcept {
    std::uint64_t weight = state.period_ns;
    give_alternate_stack(state, tick.slot, context);
    if (tick.slot != nullptr) {
        if (state.has_thread_pointer) tick.slot->control_block.store(cpu::thread_pointer(), std::memory_order_relaxed);
        weight = weight_of(state, *tick.slot, tick.expiries);
        if (weight == 0) return;
    }
    const bool in_system_call = cpu::may_leave_system_call(context);
    if (state.kernel_only && !in_system_call && tick.slot != nullptr &&
        !tick.slot->all.load(std::memory_order_relaxed)) {
        tick.slot->user_ns.fetch_add(weight, std::memory_order_relaxed);
        return;
    }
    const std::uint32_t tid =
        tick.slot != nullptr ? state.owners[tick.slot_index].load(std::memory_order_relaxed) : own_tid(state);
    CellHead* cell = tid != 0 || tick.slot != nullptr ? state.pool.claim() : nullptr;
    if (cell == nullptr) {
        auto& dropped = tick.slot != nullptr ? tick.slot->dropped : state.dropped;
        dropped.fetch_add(weight, std::memory_order_relaxed);
        return;
    }
    cell->time_ns = now(state);
    cell->weight = tick.slot != nullptr ? weight : own_cpu_ns(state);
    cell->slot = tick.slot_index;
    cell->generation = tick.slot != nullptr ? tick.slot->generation : 0;
    cell->tid = tid;
    cell->has_registers = cpu::copy_registers(context, cell->registers);
    cell->in_system_call = cell->has_registers && in_system_call;
    cell->stack_bytes = 0;
    if (cell->has_registers && state.stack_bytes != 0) {
        const ThreadSlot* const slot = tick.slot != nullptr ? tick.slot : own_slot(state);
        cell->stack_bytes = static_cast<std::uint32_t>(
            copy_stack(state, own_stack(slot), cell->registers.sp(), SamplePool::stack(cell), state.stack_bytes));
    }
    state.pool.publish(cell);
}

std::uint64_t bit_of(int signal) noexcept { return std::uint64_t{1} << (signal - 1); }

/// Whether the process traces this thread (proc(5): TracerPid in status).
bool is_tracer(int pid) noexcept {
    const long file = system_call(SYS_openat, long{AT_FDCWD}, "/proc/thread-self/status", long{O_RDONLY | O_CLOEXEC});
    if (file < 0) return false;
    char text[512];
    const long size = system_call(SYS_read, file, text, sizeof text);
    system_call(SYS_close, file);
    constexpr char key[] = "\nTracerPid:\t";
    constexpr long length = sizeof key - 1;
    for (long at = 0; at + length < size; ++at) {
        long matched = 0;
        while (matched < length && text[at + matched] == key[matched]) ++matched;
        if (matched < length) continue;
        int tracer = 0;
        for (at += length; at < size && text[at] >= '0' && text[at] <= '9'; ++at)
            tracer = tracer * 10 + (text[at] - '0');
        return tracer == pid;
    }
    return false;
}

// A signal that is not ours does what it would have done without us: that of a default action is the one for fatal
// signals. A tracer that gives one on late is its sender then, and nothing tells that it is ours (ltrace): it may not
// end the host.
void pass_on(int signal, siginfo_t* info, void* context) noexcept {
    const std::uintptr_t handler = host_actions[signal].handler.load(std::memory_order_acquire);
    if (handler == reinterpret_cast<std::uintptr_t>(SIG_IGN)) return;
    if (info->si_code == SI_USER && is_tracer(info->si_pid)) return;
    if (handler == reinterpret_cast<std::uintptr_t>(SIG_DFL)) {
        // Every signal that we use kills by default. It is blocked until we return, and finds the default action then.
        const KernelAction action;
        system_call(SYS_rt_sigaction, long{signal}, &action, 0L, 8L);
        system_call(SYS_tgkill, system_call(SYS_getpid), system_call(SYS_gettid), long{signal});
        return;
    }
    if ((host_actions[signal].flags.load(std::memory_order_relaxed) & SA_SIGINFO) != 0) {
        reinterpret_cast<void (*)(int, siginfo_t*, void*)>(handler)(signal, info, context);
    } else {
        reinterpret_cast<void (*)(int)>(handler)(signal);
    }
}

}  // namespace

void on_signal(int signal, siginfo_t* info, void* context) noexcept {
    Origin origin = Origin::foreign;
    cpu::permit_unaligned_access(*static_cast<const ucontext_t*>(context));
    {
        const Visit visit;
        State* const state = visit.state();
        const Tick tick = classify(state, *info);
        origin = tick.origin;
        if (origin == Origin::ours) take_sample(*state, tick, *static_cast<ucontext_t*>(context));
        if (origin == Origin::foreign && state != nullptr) state->stray.fetch_add(1, std::memory_order_relaxed);
    }
    // Last, and outside the visit: the host's handler may leave by longjmp.
    if (origin == Origin::foreign) pass_on(signal, info, context);
}

int install(int signal) noexcept {
    KernelAction action;
    action.handler = reinterpret_cast<std::uintptr_t>(&on_signal);
    action.flags |= SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    action.mask = ~std::uint64_t{0};
    KernelAction before;
    if (const long result = system_call(SYS_rt_sigaction, long{signal}, 0L, &before, 8L); result != 0)
        return static_cast<int>(-result);
    if (is_ours(before.handler)) return 0;
    set_host_action(signal, before.handler, static_cast<int>(before.flags));
    taken.fetch_or(bit_of(signal), std::memory_order_relaxed);
    return static_cast<int>(-system_call(SYS_rt_sigaction, long{signal}, &action, 0L, 8L));
}

std::uintptr_t installed(int signal) noexcept {
    KernelAction action{};
    const long failed = system_call(SYS_rt_sigaction, long{signal}, 0L, &action, 8L);
    return failed == 0 ? action.handler : not_told;
}

bool has_sent(const siginfo_t& info) noexcept { return classify(nullptr, info).origin != Origin::foreign; }

bool is_ours(std::uintptr_t handler) noexcept { return handler == reinterpret_cast<std::uintptr_t>(&on_signal); }

bool samples_with(int signal) noexcept {
    return signal > 0 && signal <= 64 && (taken.load(std::memory_order_relaxed) & bit_of(signal)) != 0 &&
           is_ours(installed(signal));
}

void set_host_action(int signal, std::uintptr_t handler, int flags) noexcept {
    if (signal <= 0 || signal > 64) return;
    host_actions[signal].flags.store(flags, std::memory_order_relaxed);
    host_actions[signal].handler.store(handler, std::memory_order_release);
}

void publish(State* state) noexcept { published.store(state, std::memory_order_seq_cst); }
void withdraw(State* state) noexcept { published.compare_exchange_strong(state, nullptr, std::memory_order_seq_cst); }
Visit::Visit() noexcept {
    running.fetch_add(1, std::memory_order_seq_cst);
    state_ = published.load(std::memory_order_seq_cst);
}
Visit::~Visit() { running.fetch_sub(1, std::memory_order_release); }
bool quiet() noexcept { return running.load(std::memory_order_seq_cst) == 0; }
void forget_parent() noexcept { running.store(0, std::memory_order_relaxed); }

std::uint32_t secret(std::uint32_t random) noexcept {
    std::uint32_t expected = 0;
    random |= 1;
    return process_secret.compare_exchange_strong(expected, random, std::memory_order_relaxed) ? random : expected;
}

}  // namespace flameprobe::handler
