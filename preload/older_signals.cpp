// The older ways to set what a signal does (signal(2), sysv_signal(3), sigset(3), siginterrupt(3)). libc's own call
// sigaction inside libc, past ours (dispositions.cpp): the host would be told our handlers for its SIG_DFL. And its
// profiler (profil(3), which gcc -pg starts) would count the engine's signals as its own.
//
// Async-signal-safe.
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/gmon.h>

#include "interpose.hpp"
#include "parts.hpp"

namespace flameprobe {
namespace {

using Handler = void (*)(int);

constexpr int resets = static_cast<int>(SA_RESETHAND);
constinit uint64_t interrupting = 0;  // a bit for each signal that interrupts system calls (siginterrupt(3))

uint64_t bit_of(int number) { return number > 0 && number <= 64 ? uint64_t{1} << (number - 1) : 0; }

// As BSD and glibc have it the handler stays, and calls are restarted unless siginterrupt was told otherwise.
int restarts(int number) {
    return (__atomic_load_n(&interrupting, __ATOMIC_RELAXED) & bit_of(number)) != 0 ? 0 : SA_RESTART;
}

Handler set_handler(int number, Handler handler, int flags) {
    struct sigaction action;
    struct sigaction old;
    ::memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    if (handler == SIG_ERR) {
        errno = EINVAL;
        return SIG_ERR;
    }
    if ((flags & SA_NODEFER) == 0) sigaddset(&action.sa_mask, number);
    return ::sigaction(number, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

/// What the signal did before: it was blocked, or it had this handler.
Handler told(int number, const sigset_t& blocked, Handler handler) {
    return sigismember(&blocked, number) == 1 ? SIG_HOLD : handler;
}

int (*next_profil)(unsigned short*, size_t, size_t, unsigned) = nullptr;
void (*next_monstartup)(unsigned long, unsigned long) = nullptr;

void before_profiler() {
    if (is_of_this_process()) yield_to_host(SIGPROF);
}

}  // namespace
}  // namespace flameprobe

using namespace flameprobe;

FLAMEPROBE_INTERPOSED int profil(unsigned short* buffer, size_t size, size_t offset, unsigned scale) noexcept {
    before_profiler();
    return next(next_profil, "profil")(buffer, size, offset, scale);
}
FLAMEPROBE_INTERPOSED void __monstartup(unsigned long low, unsigned long high) noexcept {
    before_profiler();
    next(next_monstartup, "__monstartup")(low, high);
}
FLAMEPROBE_INTERPOSED void monstartup(unsigned long low, unsigned long high) noexcept { __monstartup(low, high); }

FLAMEPROBE_INTERPOSED Handler signal(int number, Handler handler) noexcept {
    return set_handler(number, handler, restarts(number));
}
FLAMEPROBE_INTERPOSED Handler bsd_signal(int number, Handler handler) noexcept {
    return set_handler(number, handler, restarts(number));
}
FLAMEPROBE_INTERPOSED Handler ssignal(int number, Handler handler) noexcept {
    return set_handler(number, handler, restarts(number));
}
FLAMEPROBE_INTERPOSED Handler sysv_signal(int number, Handler handler) noexcept {
    return set_handler(number, handler, resets | SA_NODEFER);
}
FLAMEPROBE_INTERPOSED Handler __sysv_signal(int number, Handler handler) noexcept {
    return set_handler(number, handler, resets | SA_NODEFER);
}
FLAMEPROBE_INTERPOSED int sigignore(int number) noexcept { return set_handler(number, SIG_IGN, 0) == SIG_ERR ? -1 : 0; }

FLAMEPROBE_INTERPOSED Handler sigset(int number, Handler handler) noexcept {
    struct sigaction action, old;
    sigset_t one, blocked;
    ::memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigemptyset(&one);
    if (handler == SIG_ERR || sigaddset(&one, number) != 0) {
        errno = EINVAL;
        return SIG_ERR;
    }
    const bool holds = handler == SIG_HOLD;
    if (holds && ::sigprocmask(SIG_BLOCK, &one, &blocked) != 0) return SIG_ERR;
    if (::sigaction(number, holds ? nullptr : &action, &old) != 0) return SIG_ERR;
    if (!holds && ::sigprocmask(SIG_UNBLOCK, &one, &blocked) != 0) return SIG_ERR;
    return told(number, blocked, old.sa_handler);
}

FLAMEPROBE_INTERPOSED int siginterrupt(int number, int interrupts) noexcept {
    struct sigaction action;
    if (::sigaction(number, nullptr, &action) != 0) return -1;
    if (interrupts != 0) {
        __atomic_fetch_or(&interrupting, bit_of(number), __ATOMIC_RELAXED);
        action.sa_flags &= ~SA_RESTART;
    } else {
        __atomic_fetch_and(&interrupting, ~bit_of(number), __ATOMIC_RELAXED);
        action.sa_flags |= SA_RESTART;
    }
    return ::sigaction(number, &action, nullptr);
}
