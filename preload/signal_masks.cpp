// A host may block signals and let them come only while it waits (ppoll(2), pselect(2), epoll_pwait(2),
// sigsuspend(2)). What an engine has sent to its thread meanwhile would end such a wait at once, for no reason that the
// host knows. So a signal that an engine samples with, and that the thread blocks, stays blocked in the wait.
//
// Async-signal-safe. Where nothing is changed no frame of ours stays on the stack of a thread that waits.

// With it, as distributions build, poll.h has a ppoll of its own.
#undef _FORTIFY_SOURCE

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#include "interpose.hpp"
#include "parts.hpp"

namespace flameprobe {
namespace {

/// Calls `act` for each signal of an engine that the thread blocks now, and would not in a wait with this mask.
template <class Action>
void for_blocked(const sigset_t* mask, Action act) noexcept {
    const flameprobe_core* const core = core_if_loaded();
    if (mask == nullptr || core == nullptr || core->attaches_threads() == 0) return;
    sigset_t now;
    bool asked = false;
    for (int number = 1; number <= SIGRTMAX; ++number) {
        if (core->signals_with(number) == 0) continue;
        if (!asked && !is_mapped(reinterpret_cast<uintptr_t>(mask))) return;  // the kernel answers EFAULT
        if (sigismember(mask, number) == 1) continue;
        if (!asked && ::pthread_sigmask(SIG_BLOCK, nullptr, &now) != 0) return;
        asked = true;
        if (sigismember(&now, number) == 1) act(number);
    }
}

__attribute__((noinline)) bool some_are_blocked(const sigset_t* mask) noexcept {
    bool some = false;
    for_blocked(mask, [&](int) { some = true; });
    return some;
}

}  // namespace
}  // namespace flameprobe

using namespace flameprobe;

// Looked up at load: a handler of the host's may call these, and dlsym must not be called there.
#define FLAMEPROBE_WAITS(name, parameters, arguments)                                        \
    namespace {                                                                              \
    int(*next_##name) parameters = nullptr;                                                  \
    __attribute__((constructor(101))) void find_##name() { next(next_##name, #name); }       \
    __attribute__((noinline)) int masked_##name parameters {                                 \
        sigset_t all = *mask;                                                                \
        for_blocked(mask, [&](int number) { sigaddset(&all, number); });                     \
        mask = &all;                                                                         \
        return next_##name arguments;                                                        \
    }                                                                                        \
    }                                                                                        \
    FLAMEPROBE_INTERPOSED int name parameters {                                              \
        if (next(next_##name, #name) != nullptr)                                             \
            return some_are_blocked(mask) ? masked_##name arguments : next_##name arguments; \
        errno = ENOSYS;                                                                      \
        return -1;                                                                           \
    }

FLAMEPROBE_WAITS(ppoll, (pollfd * descriptors, nfds_t count, const timespec* limit, const sigset_t* mask),
                 (descriptors, count, limit, mask))
// As _FORTIFY_SOURCE has it.
FLAMEPROBE_WAITS(__ppoll_chk,
                 (pollfd * descriptors, nfds_t count, const timespec* limit, const sigset_t* mask, size_t bytes),
                 (descriptors, count, limit, mask, bytes))
FLAMEPROBE_WAITS(pselect,
                 (int count, fd_set* reads, fd_set* writes, fd_set* others, const timespec* limit,
                  const sigset_t* mask),
                 (count, reads, writes, others, limit, mask))
FLAMEPROBE_WAITS(epoll_pwait, (int epoll, epoll_event* events, int most, int limit_ms, const sigset_t* mask),
                 (epoll, events, most, limit_ms, mask))
// Since glibc 2.35.
FLAMEPROBE_WAITS(epoll_pwait2, (int epoll, epoll_event* events, int most, const timespec* limit, const sigset_t* mask),
                 (epoll, events, most, limit, mask))
FLAMEPROBE_WAITS(sigsuspend, (const sigset_t* mask), (mask))
