// A forked child has a session and a profile of its own; the run's one result holds them all. fork is wrapped rather
// than hooked with pthread_atfork: in a child handler other libraries' locks (an allocator's, for one) may still be
// held; after fork has returned none is.
#include <errno.h>
#include <pty.h>
#include <sys/types.h>
#include <unistd.h>

#include "interpose.hpp"
#include "parts.hpp"
#include "room.hpp"

namespace flameprobe {
namespace {

void begin_child() {
    reset_core_opening_in_child();
    keep_dispositions_of_this_process();
    forget_ending_in_child();
    forget_exit_in_child();
    forget_entering_in_child();
    forget_other_threads();
    forget_passings_in_child();
    const flameprobe_core* const core = core_if_loaded();
    if (core != nullptr && !knows_threads()) core->after_fork();
}

/// `real` gives 0 in the child, as fork and its relatives do. ThreadSanitizer ends a child that makes a thread if its
/// parent had several: beside it the collector ends before, and the child is sampled from exec on.
template <class Fork>
int fork_by(Fork real) {
    const bool locked = lock_core_opening_for_fork();
    const flameprobe_core* const core = locked && knows_threads() ? core_if_loaded() : nullptr;
    const bool away = core != nullptr && core->step_aside(aside_among_threads) != 0;
    const bool gives_back = has_engines_stack();
    const int result = without_collector(real, [](int child) { return child < 0 && errno == EAGAIN; });
    if (result == 0) {
        if (gives_back) give_back_engines_stack();
        begin_child();
        return 0;
    }
    const int saved = errno;
    if (away) core->come_back();
    if (locked) unlock_core_opening();
    errno = saved;
    return result;
}

pid_t (*next_fork)() = nullptr;
pid_t (*next_Fork)() = nullptr;  // takes no lock (glibc 2.34)

// Looked up at load: a handler may fork, where dlsym must not be called.
__attribute__((constructor(101))) void find_functions() {
    next(next_fork, "fork");
    next(next_Fork, "_Fork");
}
int (*next_daemon)(int, int) = nullptr;
pid_t (*next_forkpty)(int*, char*, const termios*, const winsize*) = nullptr;

}  // namespace
}  // namespace flameprobe

using namespace flameprobe;

// Of a child that is made in the middle of malloc nothing may be allocated: it is sampled from exec on.
FLAMEPROBE_INTERPOSED pid_t fork() {
    if (next_Fork != nullptr && has_one_thread() && is_in_interrupted_malloc()) return next_Fork();
    return fork_by(next(next_fork, "fork"));
}

// daemon(3) and forkpty(3) call fork inside libc, past our wrapper. The parent in daemon ends there by _exit, also
// inside libc: its profile is completed before.
FLAMEPROBE_INTERPOSED int daemon(int nochdir, int noclose) {
    if (const flameprobe_core* core = core_if_loaded()) core->ask(request_replace);
    auto* const real = next(next_daemon, "daemon");
    return fork_by([&] { return real(nochdir, noclose); });
}

FLAMEPROBE_INTERPOSED int forkpty(int* master, char* name, const termios* attributes, const winsize* size) {
    auto* const real = next(next_forkpty, "forkpty");
    return fork_by([&] { return real(master, name, attributes, size); });
}
