// sigaction(2), as the host sees it; its older relatives call it (older_signals.cpp). Where the host has SIG_DFL for a
// fatal signal, our handler takes its place; everything the host reads back is what it set itself.
//
// Two kinds of the host's handlers are called through one of ours (`relay`). With SA_ONSTACK, since the kernel has a
// stack of ours (alternate_stack.cpp). And for a fatal signal with SA_RESETHAND: the kernel would set SIG_DFL before
// the handler runs, and many such handlers raise the signal again.
//
// A child of vfork writes to its parent's memory, while the kernel's actions are its own. So its calls, and those of
// other children that libc does not know of, go to the kernel as they are, and the tables are only read.
//
// Async-signal-safe, as sigaction is: the table is written before the kernel's disposition changes, without a lock. Two
// threads that set one signal at the same time race here as they do in the kernel.

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "cpu/instructions.hpp"
#include "cpu/signal_frame.hpp"
#include "interpose.hpp"
#include "parts.hpp"

namespace flameprobe {
namespace {

constexpr int signals = 65;

struct StandIn {
    FatalHandler handler;   // null: not a signal that we handle
    struct sigaction host;  // what the host set with its SIG_DFL: flags and mask
};
constinit StandIn stand_ins[signals] = {};
constinit bool given_up = false;
constinit long process = 0;                        // whose tables these are
constinit struct sigaction relayed[signals] = {};  // what the host set, where the kernel has `relay`

int (*next_sigaction)(int, const struct sigaction*, struct sigaction*) = nullptr;

bool is_ours(int number, const struct sigaction& action) {
    return (action.sa_flags & SA_SIGINFO) != 0 && stand_ins[number].handler != nullptr &&
           action.sa_sigaction == stand_ins[number].handler;
}

/// Whether it is the handler with which an engine samples.
bool is_engines(const struct sigaction& action) {
    const flameprobe_core* core = core_if_loaded();
    return core != nullptr && core->is_own_handler(reinterpret_cast<uintptr_t>(action.sa_sigaction)) != 0;
}

struct sigaction in_place_of_default(FatalHandler handler) {
    struct sigaction ours;
    ::memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = handler;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigfillset(&ours.sa_mask);
    constexpr int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};  // a crash of the writer must not hang
    for (const int fault : faults) sigdelset(&ours.sa_mask, fault);
    return ours;
}

constexpr int resets = static_cast<int>(SA_RESETHAND);

bool is_reset_by_us(int number, const struct sigaction& wanted) {
    return (wanted.sa_flags & resets) != 0 && stand_ins[number].handler != nullptr;
}

/// The handler of a signal that is about to be delivered. With SA_RESETHAND the first thread that asks has it; the
/// stand-in is in place before it runs.
FatalHandler take_handler(int number) {
    struct sigaction& host = relayed[number];
    StandIn& entry = stand_ins[number];
    if (!is_reset_by_us(number, host)) return host.sa_sigaction;
    FatalHandler taken = nullptr;  // SIG_DFL: the union's two members have one place
    __atomic_exchange(&host.sa_sigaction, &taken, &taken, __ATOMIC_ACQ_REL);
    if (taken == nullptr) return entry.handler;
    entry.host = host;
    const struct sigaction ours = in_place_of_default(entry.handler);
    real_sigaction(number, &ours, nullptr);
    return taken;
}

// No frame of ours stays on the stack: a handler of the host sees the interrupted function behind it.
void relay(int number, siginfo_t* info, void* context) {
    const FatalHandler handler = take_handler(number);
    // Another kind of frame, for instance valgrind's, stays where it is.
    if (cpu::can_move_frame(context, __builtin_dwarf_cfa())) call_on_hosts_stack(handler, number, info, context);
    handler(number, info, context);
}

bool is_relay(const struct sigaction& action) { return action.sa_sigaction == relay; }

bool wants_relay(int number, const struct sigaction& wanted) {
    if (wanted.sa_handler == SIG_DFL || wanted.sa_handler == SIG_IGN) return false;
    // Go asks the kernel itself for the stack of a thread, and ends the process if a handler of its own runs elsewhere.
    const bool on_stack =
        (wanted.sa_flags & SA_ONSTACK) != 0 && !is_go_code(reinterpret_cast<uintptr_t>(wanted.sa_sigaction));
    return on_stack || is_reset_by_us(number, wanted);
}

struct sigaction by_relay(int number, const struct sigaction& wanted) {
    struct sigaction ours = wanted;
    ours.sa_sigaction = relay;
    ours.sa_flags |= SA_SIGINFO;
    if (is_reset_by_us(number, wanted)) ours.sa_flags &= ~resets;
    return ours;
}

/// What the host has set, where the kernel has `relay`.
struct sigaction told_for_relay(struct sigaction real, const struct sigaction& hosts) {
    real.sa_sigaction = hosts.sa_sigaction;
    real.sa_flags = (real.sa_flags & ~SA_SIGINFO) | (hosts.sa_flags & (SA_SIGINFO | resets));
    return real;
}

/// What the kernel has, or is to have, with the host's handler for `relay`.
int sigaction_past_relay(int number, const struct sigaction* action, struct sigaction* old) {
    if (number <= 0 || number >= signals) return real_sigaction(number, action, old);
    const struct sigaction before = relayed[number];
    struct sigaction ours;
    if (action != nullptr && wants_relay(number, *action)) {
        ours = by_relay(number, *action);
        relayed[number] = *action;
        action = &ours;
    }
    const int failed = real_sigaction(number, action, old);
    if (failed != 0 || !is_relay(*old)) return failed;
    *old = told_for_relay(*old, before);
    return 0;
}

/// For signals without a stand-in. If an engine samples with this one, the host is told SIG_DFL, which is what the
/// engine found there.
int sigaction_past_engine(int number, const struct sigaction* action, struct sigaction* old) {
    if (action != nullptr) yield_to_host(number);
    struct sigaction real;
    const int failed = sigaction_past_relay(number, action, &real);
    if (failed != 0 || old == nullptr) return failed;
    if (is_engines(real)) ::memset(&real, 0, sizeof real);
    *old = real;
    return 0;
}

int sigaction_of_child(int number, const struct sigaction* action, struct sigaction* old) {
    struct sigaction real;
    const int failed = real_sigaction(number, action, &real);
    if (failed != 0 || old == nullptr) return failed;
    if (is_relay(real)) real = told_for_relay(real, relayed[number]);
    *old = is_ours(number, real) || is_engines(real) ? stand_ins[number].host : real;
    return 0;
}

int host_sigaction(int number, const struct sigaction* action, struct sigaction* old) {
    if (!is_of_this_process()) return sigaction_of_child(number, action, old);
    if (number <= 0 || number >= signals || stand_ins[number].handler == nullptr) {
        return sigaction_past_engine(number, action, old);
    }
    StandIn& entry = stand_ins[number];
    const struct sigaction before = entry.host;
    struct sigaction real;
    int failed = 0;
    if (action == nullptr) {
        failed = sigaction_past_relay(number, nullptr, &real);
    } else if (action->sa_handler == SIG_DFL) {
        const struct sigaction wanted = *action;
        const struct sigaction ours = in_place_of_default(entry.handler);
        failed = sigaction_past_relay(number, nullptr, &real);
        // The engine's handler stays: signals that are not the engine's it passes on to ours.
        if (failed == 0 && !is_engines(real)) failed = real_sigaction(number, &ours, nullptr);
        if (failed == 0) entry.host = wanted;
    } else {
        const struct sigaction wanted = *action;  // `old` may be the same object
        yield_to_host(number);
        failed = sigaction_past_relay(number, &wanted, &real);
    }
    if (failed == 0 && old != nullptr) *old = is_ours(number, real) || is_engines(real) ? before : real;
    return failed;
}

}  // namespace

int real_sigaction(int number, const struct sigaction* action, struct sigaction* old) {
    return next(next_sigaction, "sigaction")(number, action, old);
}

bool is_of_this_process() noexcept { return given_up || process == 0 || ::getpid() == process; }

void keep_dispositions_of_this_process() noexcept { process = ::getpid(); }

void stand_in_for_default(int number, FatalHandler handler) {
    if (given_up) return;
    struct sigaction now;
    if (real_sigaction(number, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) {
        // Ignored for now (nohup): if the host sets the default later, our handler takes its place then.
        stand_ins[number].handler = handler;
        return;
    }
    stand_ins[number] = {handler, now};
    const struct sigaction ours = in_place_of_default(handler);
    real_sigaction(number, &ours, nullptr);
}

void stop_standing_in() {
    given_up = true;
    for (int number = 1; number < signals; ++number) {
        StandIn& entry = stand_ins[number];
        struct sigaction real;
        if (entry.handler == nullptr) continue;
        const bool known = real_sigaction(number, nullptr, &real) == 0;
        if (known && is_ours(number, real)) real_sigaction(number, &entry.host, nullptr);
        if (known && is_relay(real) && is_reset_by_us(number, relayed[number])) {
            real.sa_flags |= resets;
            real_sigaction(number, &real, nullptr);
        }
        entry.handler = nullptr;
    }
}

namespace {

__attribute__((constructor(101))) void begin() { keep_dispositions_of_this_process(); }

}  // namespace
}  // namespace flameprobe

using namespace flameprobe;

FLAMEPROBE_INTERPOSED int sigaction(int number, const struct sigaction* action, struct sigaction* old) noexcept {
    return host_sigaction(number, action, old);
}
