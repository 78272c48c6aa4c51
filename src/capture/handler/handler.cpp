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

enum class Origin { ours, late, foreign };

struct Tick {
    Origin origin = Origin::foreign;
    std::uint32_t slot = 0;      // where it is ours
    std::uint64_t expiries = 1;  // of its timer
};

Tick classify(State* state, const siginfo_t& info) noexcept {
    if (info.si_code != SI_TIMER) return {};
    const auto token = Token::unpack(reinterpret_cast<std::uintptr_t>(info.si_value.sival_ptr));
    const std::uint32_t expected = process_secret.load(std::memory_order_relaxed);
    if (expected == 0 || token.secret != expected) return {};
    if (state == nullptr || !state->sampling.load(std::memory_order_relaxed)) return {.origin = Origin::late};
    if (token.slot >= state->slot_count) return {.origin = Origin::late};
    if (static_cast<std::uint16_t>(state->slots[token.slot].generation) != token.generation)
        return {.origin = Origin::late};
    return {Origin::ours, token.slot, 1 + static_cast<std::uint64_t>(info.si_overrun > 0 ? info.si_overrun : 0)};
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

// rt_sigreturn makes uc_stack the thread's alternate stack (kernel/signal.c, restore_altstack): so a thread
// that was not prepared gets one here, without a system call, and no later signal needs room on a small stack. A main
// thread without one may have no SS_DISABLE in the frame: exec resets the size only.
void give_alternate_stack(const ThreadSlot& slot, ucontext_t& context) noexcept {
    stack_t& stack = context.uc_stack;
    if (stack.ss_size != 0 && (stack.ss_flags & SS_DISABLE) == 0) return;
    const std::uint64_t base = slot.alternate.load(std::memory_order_acquire);
    if (base != 0) stack = {reinterpret_cast<void*>(base), 0, alternate_stack_bytes};
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
    ThreadSlot& slot = state.slots[tick.slot];
    give_alternate_stack(slot, context);
    if (state.has_thread_pointer) slot.control_block.store(cpu::thread_pointer(), std::memory_order_relaxed);
    const std::uint64_t weight = weight_of(state, slot, tick.expiries);
    if (weight == 0) return;
    const bool in_system_call = cpu::may_leave_system_call(context);
    if (state.kernel_only && !in_system_call && !slot.all.load(std::memory_order_relaxed)) {
        slot.user_ns.fetch_add(weight, std::memory_order_relaxed);
        return;
    }
    CellHead* const cell = state.pool.claim();
    if (cell == nullptr) {
        slot.dropped.fetch_add(weight, std::memory_order_relaxed);
        return;
    }
    cell->time_ns = now(state);
    cell->weight = weight;
    cell->slot = tick.slot;
    cell->generation = slot.generation;
    cell->tid = state.owners[tick.slot].load(std::memory_order_relaxed);
    cell->has_registers = cpu::copy_registers(context, cell->registers);
    cell->in_system_call = cell->has_registers && in_system_call;
    cell->stack_bytes = 0;
    if (cell->has_registers && state.stack_bytes != 0) {
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
