// A thread that enters a seccomp filter may lose any system call, or be killed for it. So the collector creates its
// file before, and signal handlers stop making system calls. Filters are entered by prctl, or by syscall(SYS_seccomp),
// for which libc has no function; an ordinary user must set PR_SET_NO_NEW_PRIVS before (seccomp(2)).
// prctl's PR_SET_TSC and PR_SET_SYSCALL_USER_DISPATCH, after which handlers cannot do as before, are answered here too.
#include "filters.hpp"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "base/clock.hpp"
#include "core.hpp"
#include "dispositions.hpp"
#include "interpose.hpp"
#include "own_allocations.hpp"
#include "own_stacks.hpp"

namespace flameprobe {
namespace {

int (*next_prctl)(int, unsigned long, unsigned long, unsigned long, unsigned long) = nullptr;

// `entered`: the process that loaded the core has called seccomp(2) before. Until then a system call can tell whether
// the caller is that process, or a child of vfork, which writes to the same memory.
constinit bool entered = false;
constinit bool of_loaded_process = false;
constinit bool entering = false;  // held by the one thread that is about to enter a filter

void expect_filter() noexcept {
    const flameprobe_core* core = core_if_loaded();
    if (core == nullptr) return;
    const int saved = errno;
    stop_standing_in();
    make_no_more_stacks();
    core->expect_filter();
    errno = saved;
}

void give_up_signals() noexcept {
    const int saved = errno;
    if (const flameprobe_core* core = core_if_loaded()) core->yield_signal(0);
    errno = saved;
}

void read_no_counter() noexcept {
    keep_off_counter();
    if (const flameprobe_core* core = core_if_loaded()) core->keep_off_counter();
    if (alloc_table() != nullptr) alloc_table()->go_silent();
}

// One thread at a time, without a lock that sleeps: that would be a system call.
class Entrance {
public:
    Entrance() {
        while (__atomic_exchange_n(&entering, true, __ATOMIC_ACQUIRE)) {
        }
        const flameprobe_core* core = core_if_loaded();
        if (!entered && core != nullptr) of_loaded_process = core->is_this_process() != 0;
        expect_filter();
    }
    ~Entrance() {
        if (of_loaded_process) entered = true;
        __atomic_store_n(&entering, false, __ATOMIC_RELEASE);
    }
    Entrance(const Entrance&) = delete;
    Entrance& operator=(const Entrance&) = delete;
};

}  // namespace

void before_filter(unsigned long operation, unsigned long flags, const void* program) noexcept {
    // Without a program it only asks whether there are filters (EFAULT).
    const bool enters =
        operation == SECCOMP_SET_MODE_STRICT || (operation == SECCOMP_SET_MODE_FILTER && program != nullptr);
    if (!enters) return;
    const int saved = errno;
    const Entrance entrance;
    const flameprobe_core* core = core_if_loaded();
    if (operation == SECCOMP_SET_MODE_FILTER && of_loaded_process && core != nullptr)
        core->before_filter(program, flags, entered ? 0 : 1);
    errno = saved;
}

void forget_entering_in_child() { __atomic_store_n(&entering, false, __ATOMIC_RELEASE); }

}  // namespace flameprobe

using namespace flameprobe;

// prctl(2) is variadic in C and takes four words at most.
FLAMEPROBE_INTERPOSED int prctl(int option, ...) noexcept {
    va_list list;
    va_start(list, option);
    unsigned long words[4];
    for (unsigned long& word : words) word = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_SECCOMP) {
        const bool filter = words[0] == SECCOMP_MODE_FILTER;
        before_filter(filter ? SECCOMP_SET_MODE_FILTER : SECCOMP_SET_MODE_STRICT, 0,
                      reinterpret_cast<const void*>(words[1]));
    }
    // Of a child of vfork its own: what is written here is its parent's. Its filter is met when it comes.
    if (option == PR_SET_NO_NEW_PRIVS && is_of_this_process()) expect_filter();
    if (option == PR_SET_TSC && words[0] == PR_TSC_SIGSEGV) read_no_counter();
    // From then on a handler of ours could not even return: rt_sigreturn is a system call (Linux 5.11).
    if (option == PR_SET_SYSCALL_USER_DISPATCH && words[0] == PR_SYS_DISPATCH_ON) give_up_signals();
    return next(next_prctl, "prctl")(option, words[0], words[1], words[2], words[3]);
}
