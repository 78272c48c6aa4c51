#include "sandbox/host_restrictions.hpp"

#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <new>
#include <span>
#include <string>

#include "base/clock.hpp"
#include "base/memory_map.hpp"
#include "base/proc.hpp"
#include "capture/handler/kernel_action.hpp"
#include "capture/handler/raw_system_call.hpp"
#include "cpu/kernel_abi.hpp"

namespace flameprobe {
namespace {

// All that the collector calls from its start to its end.
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
    SYS_wait4,
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

// A filter may also refuse exit_group: the limit of CPU time ends the child then.
[[noreturn]] void end() {
    for (;;) ::syscall(SYS_exit_group, 0);
}

[[noreturn]] void try_calls(std::span<const long> system_calls, std::span<const long> more = {}) {
    make(system_calls);
    make(more);
    end();
}

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
[[noreturn]] void try_return_in(const void* program, unsigned long flags, Progress* shared) {
    handler::KernelAction action;
    action.handler = reinterpret_cast<std::uintptr_t>(&on_alarm);
    constexpr std::uint64_t alarm = std::uint64_t{1} << (SIGALRM - 1);
    constexpr itimerval every_millisecond{{0, 1000}, {0, 1000}};
    progress = shared;
    handler::system_call(SYS_rt_sigaction, long{SIGALRM}, &action, 0L, 8L);
    handler::system_call(SYS_rt_sigprocmask, long{SIG_UNBLOCK}, &alarm, 0L, 8L);
    if (handler::system_call(SYS_setitimer, long{ITIMER_REAL}, &every_millisecond, 0L) != 0) end();
    shared->entered = enter(program, flags);
    while (shared->entered && !shared->handled) {
    }
    shared->returned = true;
    end();
}

/// Whether a child is killed for what `trial` does. It has no exit signal, and leaves no core file of a death that was
/// asked for.
template <class Trial>
bool kills_a_child(Trial trial) {
    const long child = ::syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L);
    if (child == 0) {
        constexpr rlimit none{0, 0}, one_second{1, 1};
        constexpr std::uint64_t all = ~std::uint64_t{0};  // so that what kills the child runs no handler of the host
        handler::system_call(SYS_rt_sigprocmask, long{SIG_SETMASK}, &all, 0L, 8L);
        ::syscall(SYS_prlimit64, 0, RLIMIT_CORE, &none, nullptr);
        ::syscall(SYS_prlimit64, 0, RLIMIT_CPU, &one_second, nullptr);
        trial();
    }
    if (child < 0) return true;  // better no samples than no host
    int status = 0;
    const long waited = ::syscall(SYS_wait4, child, &status, __WCLONE, nullptr);
    return waited != child || !WIFEXITED(status);
}

}  // namespace

bool is_filtered() {
    // A collector asks several times while it starts. /proc costs a short-lived process more than anything else here.
    constexpr std::uint64_t known_for_ns = 10'000'000;
    static constinit std::atomic<std::uint64_t> no_filter_ns{0};
    static constinit std::atomic<long> no_filter_tid{0};
    const long tid = ::syscall(SYS_gettid);
    if (no_filter_tid == tid && monotonic_ns() < no_filter_ns + known_for_ns) return false;
    const auto path = "/proc/self/task/" + std::to_string(tid) + "/status";
    const auto status = read_small_file(path.c_str());
    if (status && status->find("\nSeccomp:\t2") != std::string::npos) return true;
    no_filter_ns = monotonic_ns();
    no_filter_tid = tid;
    return false;
}

bool filter_kills_for(std::initializer_list<long> system_calls) {
    return is_filtered() && kills_a_child([&] { try_calls(system_calls); });
}

bool filter_for_all_would_kill(const void* program, unsigned long flags) {
    if ((flags & SECCOMP_FILTER_FLAG_TSYNC) == 0) return false;
    // A process that listens to a filter (seccomp_unotify(2)) is asked about each call, and might be the host itself.
    if ((flags & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0) return true;
    return kills_a_child([&] {
        if (!enter(program, flags)) end();
        try_calls(calls_of_the_collector, cpu::older_system_calls);
    });
}

bool lets_handlers_return(const void* program, unsigned long flags) {
    if ((flags & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0) return false;
    void* const page = ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return false;
    const MemoryMap memory(page, sizeof(Progress));
    auto* const shared = new (page) Progress{};
    kills_a_child([&] { try_return_in(program, flags, shared); });
    return shared->returned;
}

}  // namespace flameprobe
