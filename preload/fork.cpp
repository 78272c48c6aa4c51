// A forked child is sampled into results of its own. fork is wrapped rather than hooked with pthread_atfork: in a child
// handler other libraries' locks (an allocator's, for one) may still be held; after fork has returned none is.
#include <pty.h>
#include <sys/types.h>
#include <unistd.h>

#include "core.hpp"
#include "dispositions.hpp"
#include "host_threads.hpp"
#include "interpose.hpp"
#include "seccomp.hpp"

namespace flameprobe {
namespace {

void begin_child() {
    let_open_in_child();
    forget_ending_in_child();
    forget_entering_in_child();
    forget_other_threads();
    if (const flameprobe_core* core = core_if_loaded()) core->after_fork();
}

pid_t (*next_fork)() = nullptr;
int (*next_daemon)(int, int) = nullptr;
pid_t (*next_forkpty)(int*, char*, const termios*, const winsize*) = nullptr;

}  // namespace
}  // namespace flameprobe

using namespace flameprobe;

FLAMEPROBE_INTERPOSED pid_t fork() {
    auto* const real = next(next_fork, "fork");
    wait_for_opening();
    const pid_t pid = real();
    pid == 0 ? begin_child() : let_open();
    return pid;
}

// daemon(3) and forkpty(3) call fork inside libc, past our wrapper. The parent in daemon ends there by _exit, also
// inside libc: what it sampled is flushed before.
FLAMEPROBE_INTERPOSED int daemon(int nochdir, int noclose) {
    if (const flameprobe_core* core = core_if_loaded()) core->flush();
    auto* const real = next(next_daemon, "daemon");
    wait_for_opening();
    const int failed = real(nochdir, noclose);
    failed == 0 ? begin_child() : let_open();
    return failed;
}

FLAMEPROBE_INTERPOSED int forkpty(int* master, char* name, const termios* attributes, const winsize* size) {
    auto* const real = next(next_forkpty, "forkpty");
    wait_for_opening();
    const pid_t pid = real(master, name, attributes, size);
    pid == 0 ? begin_child() : let_open();
    return pid;
}
