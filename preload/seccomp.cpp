// A thread that enters a seccomp filter may lose any system call, or be killed for it. What the collector needs is made
// before, and handlers stop making system calls. Filters are entered by prctl, or after PR_SET_NO_NEW_PRIVS, which
// whoever is not root must set (seccomp(2)).
#include <errno.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "core.hpp"
#include "dispositions.hpp"
#include "interpose.hpp"

namespace flameprobe {
namespace {

int (*next_prctl)(int, unsigned long, unsigned long, unsigned long, unsigned long) = nullptr;

void expect_seccomp() noexcept {
    const flameprobe_core* core = core_if_loaded();
    if (core == nullptr) return;
    const int saved = errno;
    stop_standing_in();
    core->expect_seccomp();
    errno = saved;
}

void give_up_signals() noexcept {
    const int saved = errno;
    if (const flameprobe_core* core = core_if_loaded()) core->yield_signal(0);
    errno = saved;
}

}  // namespace
}  // namespace flameprobe

using namespace flameprobe;

// prctl(2) is variadic in C and takes four words at most.
FLAMEPROBE_INTERPOSED int prctl(int option, ...) noexcept {
    va_list list;
    va_start(list, option);
    unsigned long words[4];
    for (unsigned long& word : words) word = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS) expect_seccomp();
    // From then on a handler of ours could not even return: rt_sigreturn is a system call (Linux 5.11).
    if (option == PR_SET_SYSCALL_USER_DISPATCH && words[0] == PR_SYS_DISPATCH_ON) give_up_signals();
    return next(next_prctl, "prctl")(option, words[0], words[1], words[2], words[3]);
}
