// Signals of the host: what it has set for them, and those that our own calls would send it.
#pragma once

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

namespace flameprobe {

using SetSignalAction = int(int, const struct sigaction*, struct sigaction*);
/// sigaction(2): in a host that of libflameprobe.so, which the core does not find under libc's name (preload/core.cpp).
inline constinit SetSignalAction* host_sigaction = ::sigaction;

/// For what FlameProbe writes: messages, in a thread of the host or in the collector, and results. A write may raise
/// SIGXFSZ (the file is at RLIMIT_FSIZE), SIGPIPE (a pipe without a reader) or SIGTTOU (a terminal that has another job
/// in front). By default that ends or stops the process. While an object of this class lives, these signals are
/// blocked. Those that the write raised are consumed; those that were pending before stay.
class HeldSignals {
public:
    HeldSignals() noexcept {
        for (const int number : {SIGXFSZ, SIGPIPE, SIGTTOU}) sigaddset(&ours_, number);
        ::pthread_sigmask(SIG_BLOCK, &ours_, &before_);
        sigset_t pending{};
        ::sigpending(&pending);
        for (const int number : {SIGXFSZ, SIGPIPE, SIGTTOU})
            if (sigismember(&pending, number) == 1) sigdelset(&ours_, number);
    }
    ~HeldSignals() {
        const int saved = errno;
        const timespec at_once{};
        while (::sigtimedwait(&ours_, nullptr, &at_once) > 0 || errno == EINTR) {
        }
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
        errno = saved;
    }
    HeldSignals(const HeldSignals&) = delete;
    HeldSignals& operator=(const HeldSignals&) = delete;

private:
    sigset_t ours_{}, before_{};
};

}  // namespace flameprobe
