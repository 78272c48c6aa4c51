// A thread that enters a seccomp filter may lose any system call, or be killed for it. So the collector creates its
// file before, and signal handlers stop making system calls. Filters are entered by prctl, or by syscall(SYS_seccomp),
// for which libc has no function.

#include <errno.h>
#include <linux/seccomp.h>

#include "parts.hpp"

namespace flameprobe {
namespace {

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
    make_passings_quiet();
    if (operation == SECCOMP_SET_MODE_STRICT) time_no_passings();  // the counter faults in it
    const Entrance entrance;
    const flameprobe_core* core = core_if_loaded();
    if (operation == SECCOMP_SET_MODE_FILTER && of_loaded_process && core != nullptr)
        core->before_filter(program, flags, entered ? 0 : 1);
    errno = saved;
}

void forget_entering_in_child() { __atomic_store_n(&entering, false, __ATOMIC_RELEASE); }

}  // namespace flameprobe
