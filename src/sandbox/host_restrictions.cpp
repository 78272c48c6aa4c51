#include "sandbox/host_restrictions.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#include "base/memory_map.hpp"
#include "capture/handler/raw_system_call.hpp"
#include "cpu/kernel_abi.hpp"
#include "sandbox/trial.hpp"

namespace flameprobe {
namespace {

/// The flags without those for several threads: the trial is the child's alone.
constexpr unsigned long for_many = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_TSYNC_ESRCH;

// The kernel wants no_new_privs of a user without privileges; the host has set it for its own thread. A bare system
// call, since libc's is interposed (preload/system_call.cpp) and would come back here.
bool enter(const void* program, unsigned long flags) {
    handler::system_call(SYS_prctl, long{PR_SET_NO_NEW_PRIVS}, 1L);
    return handler::system_call(SYS_seccomp, long{SECCOMP_SET_MODE_FILTER}, static_cast<long>(flags & ~for_many),
                                program) == 0;
}

/// How far the child of lets_handlers_return() has got, in memory that its parent sees.
struct Progress {
    std::atomic<bool> entered, handled, returned;
};
constinit Progress* progress = nullptr;  // of this child

void on_alarm(int) { progress->handled = progress->entered.load(); }

// A timer's signal comes when the filter is in force, with no system call of the child's own.
void try_return_in(const void* program, unsigned long flags, Progress* shared) {
    handler::KernelAction action;
    action.handler = reinterpret_cast<std::uintptr_t>(&on_alarm);
    constexpr std::uint64_t alarm = std::uint64_t{1} << (SIGALRM - 1);
    constexpr itimerval every_millisecond{{0, 1000}, {0, 1000}};
    progress = shared;
    handler::system_call(SYS_rt_sigaction, long{SIGALRM}, &action, 0L, 8L);
    handler::system_call(SYS_rt_sigprocmask, long{SIG_UNBLOCK}, &alarm, 0L, 8L);
    if (handler::system_call(SYS_setitimer, long{ITIMER_REAL}, &every_millisecond, 0L) != 0) return;
    shared->entered = enter(program, flags);
    while (shared->entered && !shared->handled) {
    }
    shared->returned = true;
}

// close_range with CLOSE_RANGE_UNSHARE (Linux 5.9) copies nothing that it would close. Older kernels copy and close.
bool take_empty_table() {
    if (::syscall(SYS_close_range, 0, ~0U, CLOSE_RANGE_UNSHARE) == 0) return true;
    if (::unshare(CLONE_FILES) != 0) return false;
    rlimit limit{};
    const int end =
        ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 65536 ? static_cast<int>(limit.rlim_cur) : 65536;
    for (int fd = 0; fd < end; ++fd) ::close(fd);
    return true;
}

}  // namespace

bool filter_for_all_would_kill(const void* program, unsigned long flags) {
    if ((flags & SECCOMP_FILTER_FLAG_TSYNC) == 0) return false;
    // A process that listens to a filter (seccomp_unotify(2)) is asked about each call, and might be the host itself.
    if ((flags & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0) return true;
    return trial::kills([&] {
        if (!enter(program, flags)) trial::end();
        for (const long number : calls_while_sampling) trial::make(number);
        for (const long number : calls_of_engines) trial::make(number);
        for (const long number : cpu::older_system_calls) trial::make(number);
    });
}

bool lets_handlers_return(const void* program, unsigned long flags) {
    if ((flags & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0) return false;
    const MemoryMap memory = trial::shared_memory(sizeof(Progress));
    if (!memory) return false;
    auto* const shared = new (memory.data()) Progress{};
    trial::kills([&] { try_return_in(program, flags, shared); });
    return shared->returned;
}

bool isolate_this_thread() {
    if (!take_empty_table()) return false;
    // The umask as the user set it, but the user that writes a result can also read it.
    if (::unshare(CLONE_FS) == 0) {
        ::umask(::umask(077) & 077);
        if (!filter_kills_for({SYS_chdir})) [[maybe_unused]]
            const int left = ::chdir("/");
    }
    // A library that writes a message to 1 or 2 must not write into a file of ours. A root may have no devices.
    int null = ::open("/dev/null", O_RDWR);
    if (null < 0) null = ::open("/", O_RDONLY);
    for (int fd = null; fd >= 0 && fd < 2;) fd = ::dup(null);
    return true;
}

}  // namespace flameprobe
