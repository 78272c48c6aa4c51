#include "sandbox/seccomp_probe.hpp"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <span>
#include <string>

#include "base/proc.hpp"
#include "capture/handler/raw_system_call.hpp"
#include "cpu/kernel_abi.hpp"

namespace flameprobe {
namespace {

// What the collector does between its start and its end, names and pictures included.
constexpr long calls_of_the_collector[] = {
    SYS_futex,
    SYS_read,
    SYS_write,
    SYS_pread64,
    SYS_pwrite64,
    SYS_lseek,
    SYS_openat,
    SYS_close,
    SYS_fstat,
    SYS_newfstatat,
    SYS_readlinkat,
    SYS_getdents64,
    SYS_fcntl,
    SYS_ftruncate,
    SYS_fchmod,
    SYS_flock,
    SYS_renameat,
    SYS_unlinkat,
    SYS_geteuid,
    SYS_mmap,
    SYS_munmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    SYS_ioctl,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_getpid,
    SYS_gettid,
    SYS_getrandom,
    SYS_uname,
    SYS_getcwd,
    SYS_prctl,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_getitimer,
    SYS_timer_create,
    SYS_timer_settime,
    SYS_timer_delete,
    SYS_perf_event_open,
    SYS_process_vm_readv,
    SYS_clone,
    SYS_clone3,
    SYS_wait4,
    SYS_set_robust_list,
    SYS_sched_getaffinity,
    SYS_sched_yield,
    SYS_prlimit64,
    SYS_sysinfo,
    SYS_set_tid_address,
};

// -1 is no valid first argument of any.
void make(std::span<const long> system_calls) {
    for (const long number : system_calls) ::syscall(number, -1L, -1L, -1L, -1L, -1L, -1L);
}

// In the child: no core file of a death that was asked for, then the calls.
[[noreturn]] void try_calls(std::span<const long> system_calls, std::span<const long> more = {}) {
    const rlimit none{0, 0};
    ::syscall(SYS_prlimit64, 0, RLIMIT_CORE, &none, nullptr);
    make(system_calls);
    make(more);
    for (;;) ::syscall(SYS_exit_group, 0);
}

// The kernel wants no_new_privs of whoever is not privileged; the host has set it for its own thread. A bare system
// call, since libc's is interposed (preload/system_call.cpp) and would come back here.
[[noreturn]] void try_calls_in(const void* program, unsigned long flags) {
    handler::system_call(SYS_prctl, long{PR_SET_NO_NEW_PRIVS}, 1L);
    const long entered =
        handler::system_call(SYS_seccomp, long{SECCOMP_SET_MODE_FILTER}, static_cast<long>(flags), program);
    if (entered != 0) ::syscall(SYS_exit_group, 0);
    try_calls(calls_of_the_collector, cpu::older_system_calls);
}

/// Whether a child is killed for what `trial` does. It has no exit signal.
template <class Trial>
bool kills_a_child(Trial trial) {
    const long child = ::syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L);
    if (child == 0) trial();
    if (child < 0) return true;  // better no samples than no host
    int status = 0;
    const long waited = ::syscall(SYS_wait4, child, &status, __WCLONE, nullptr);
    return waited != child || !WIFEXITED(status);
}

}  // namespace

bool seccomp_filters_us() {
    const auto path = "/proc/self/task/" + std::to_string(::syscall(SYS_gettid)) + "/status";
    const auto status = read_small_file(path.c_str());
    return status && status->find("\nSeccomp:\t2") != std::string::npos;
}

bool seccomp_kills_for(std::initializer_list<long> system_calls) {
    return seccomp_filters_us() && kills_a_child([&] { try_calls(system_calls); });
}

bool filter_would_kill(const void* program, unsigned long flags) {
    // Whoever listens to a filter (seccomp_unotify(2)) is asked about each call, and might be the host itself.
    if ((flags & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0) return true;
    constexpr unsigned long for_many = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_TSYNC_ESRCH;
    return kills_a_child([&] { try_calls_in(program, flags & ~for_many); });
}

}  // namespace flameprobe
