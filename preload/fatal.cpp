// Signals that end the host by their default action: Ctrl-C is how most profiles end. A handler of ours writes the
// results and then lets the signal do what it would have done. The host does not see it: what it sets and reads back
// through sigaction and signal is kept beside (dispositions.cpp).
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "cpu/signal_frame.hpp"
#include "parts.hpp"

namespace flameprobe {
namespace {

/// Not those that by default do nothing or stop the process (signal(7)), cannot be caught, or are libc's own.
bool is_fatal(int number) {
    constexpr int others[] = {SIGKILL, SIGSTOP, SIGCHLD, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH};
    for (const int other : others)
        if (number == other) return false;
    return number < __SIGRTMIN || number >= SIGRTMIN;
}

constinit int ending = 0;  // the tid that is writing the results

bool is_crash(int number) {
    return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL || number == SIGABRT ||
           number == SIGTRAP || number == SIGSYS;
}

bool is_fault(int number, const siginfo_t* info) { return is_crash(number) && info->si_code > 0; }

/// Behind a breakpoint of its own (int3), and a system call that a filter traps, the thread would go on.
bool happens_again(int number, const siginfo_t* info) {
    return is_fault(number, info) && number != SIGTRAP && number != SIGSYS;
}

// Lets the signal do what it would have done. Most faults happen again when the handler returns, and abort() raises
// once more by itself (abort(3)); anything else is sent again with its siginfo, and waits until the handler has
// returned.
void die_by(int number, siginfo_t* info) {
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    real_sigaction(number, &standard, nullptr);
    if (happens_again(number, info)) return;
    if (::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), ::gettid(), number, info) != 0)
        ::syscall(SYS_tgkill, ::getpid(), ::gettid(), number);
}

/// The first process of a pid namespace: the kernel ignores what would end it by default, unless it is its own fault.
bool is_init() { return ::getpid() == 1; }

void on_fatal_signal(int number, siginfo_t* info, void* context) {
    if (!is_fault(number, info) && is_init()) return;
    cpu::permit_unaligned_access(*static_cast<const ucontext_t*>(context));
    const int saved = errno;
    const int tid = ::gettid();
    int none = 0;
    // A second signal while the results are being written (an impatient Ctrl-C, or the writer's own crash) ends it at
    // once.
    if (__atomic_compare_exchange_n(&ending, &none, tid, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        if (const flameprobe_core* core = core_if_loaded()) {
            if (is_crash(number)) core->died(number, info, context);
            core->finish();
        }
    }
    die_by(number, info);
    errno = saved;
}

// A signal that is ignored must not interrupt what waits in init either.
constinit bool left_out = false;
void stand_in() {
    const bool ignores = is_init();
    left_out = ignores;
    const int last = SIGRTMAX;
    for (int number = 1; number <= last; ++number)
        if (ignores ? is_crash(number) : is_fatal(number)) stand_in_for_default(number, on_fatal_signal);
}

}  // namespace

void watch_fatal_signals() {
    static constinit bool watching = false;
    if (__atomic_exchange_n(&watching, true, __ATOMIC_ACQ_REL)) return;
    stand_in();
}

void forget_ending_in_child() {
    __atomic_store_n(&ending, 0, __ATOMIC_RELEASE);
    if (left_out) stand_in();
}

}  // namespace flameprobe
