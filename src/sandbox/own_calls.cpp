#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>

#include "base/clock.hpp"
#include "base/memory_map.hpp"
#include "base/proc.hpp"
#include "cpu/kernel_abi.hpp"
#include "sandbox/host_restrictions.hpp"
#include "sandbox/trial.hpp"

namespace flameprobe {
namespace {

// All system calls that FlameProbe adds to a host's: a new one belongs into one of these lists, and into
// tests/integration/test_filters.py. First what prepares a child, and reaps it.
constexpr long while_sampling[] = {
    SYS_rt_sigprocmask,
    SYS_prlimit64,
    SYS_prctl,
    SYS_wait4,
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
    SYS_rt_sigaction,
    SYS_process_vm_readv,
    SYS_clone,
    SYS_sched_getaffinity,
    SYS_sched_yield,
    SYS_sysinfo,
    SYS_set_tid_address,
};

constexpr long at_the_start[] = {
    SYS_clone3,
    SYS_unshare,
    SYS_close_range,
    SYS_umask,
    SYS_dup,
    SYS_pipe2,
    SYS_ppoll,
    SYS_kill,
    SYS_tgkill,
    SYS_nanosleep,
    SYS_sigaltstack,
    SYS_rt_sigpending,
    SYS_getuid,
    SYS_getppid,
    SYS_capget,
    SYS_rt_sigtimedwait,
    SYS_rt_tgsigqueueinfo,
    SYS_renameat2,
    SYS_mkdirat,
    SYS_faccessat,
    SYS_statfs,
};

constexpr long of_engines[] = {SYS_perf_event_open, SYS_timer_create, SYS_timer_settime, SYS_timer_delete,
                               SYS_getitimer};

/// Without these, and those of the engines, there is less: each is asked about before it is used.
constexpr long of_luxury[] = {
    SYS_setitimer,   SYS_pidfd_open,
    SYS_pidfd_getfd, SYS_setpgid,
    SYS_rseq,        SYS_sched_getscheduler,
    SYS_execve,      SYS_sched_setscheduler,
    SYS_dup3,        SYS_getsockopt,
    SYS_socket,      SYS_socketpair,
    SYS_bind,        SYS_listen,
    SYS_chdir,       SYS_pidfd_send_signal,
};

constexpr std::size_t numbers = 512;
constexpr int no_proc = -2;

constinit std::array<bool, numbers> tried{}, killed{};
constinit int tried_filters = 0;

/// Those that there is no profile without come first.
constexpr std::size_t needed_calls =
    std::size(while_sampling) + std::size(cpu::older_system_calls) + std::size(at_the_start);
constexpr auto all_calls = [] {
    std::array<long, needed_calls + std::size(of_engines) + std::size(of_luxury)> calls{};
    auto end = calls.begin();
    for (const auto group :
         {std::span<const long>(while_sampling), std::span<const long>(cpu::older_system_calls),
          std::span<const long>(at_the_start), std::span<const long>(of_engines), std::span<const long>(of_luxury)})
        end = std::copy(group.begin(), group.end(), end);
    return calls;
}();
constexpr auto needed = std::span(all_calls).first<needed_calls>();

bool kills(long number) noexcept {
    return static_cast<std::size_t>(number) < numbers && killed[static_cast<std::size_t>(number)];
}

thread_local bool made_by_main_thread = false;

/// Of the calling thread.
int filters_here() {
    // A collector asks several times while it starts. /proc costs a short-lived process more than anything else here.
    constexpr std::uint64_t known_for_ns = 10'000'000;
    static constinit std::atomic<std::uint64_t> no_filter_ns{0};
    static constinit std::atomic<void*> no_filter_thread{nullptr};
    void* const thread = __builtin_thread_pointer();
    if (no_filter_thread == thread && monotonic_ns() < no_filter_ns + known_for_ns) return 0;
    const auto of_main_thread = made_by_main_thread ? read_small_file("/proc/self/status") : std::nullopt;
    if (!of_main_thread || filters_in_force(*of_main_thread) != 0) {
        const auto status = read_small_file("/proc/thread-self/status");
        if (!status) return no_proc;  // there may be one
        if (const int filters = filters_in_force(*status); filters != 0) return filters;
    }
    no_filter_ns = monotonic_ns();
    no_filter_thread = thread;
    return 0;
}

/// Has a child make those that no child was killed for. Gives the one that kills this one, or 0; -1: there is no child.
long try_in_a_child(std::span<const long> calls, std::atomic<long>& making) {
    constexpr std::size_t preparations = 4;  // the last is wait4
    making = calls.front();
    const long child = trial::run([&] {
        for (const long number : calls) {
            if (kills(number)) continue;
            making = number;
            trial::make(number);
        }
        making = SYS_exit;
        handler::system_call(SYS_exit, 0L);
    });
    if (child < 0) return -1;
    const long last = making;
    const auto end = calls.begin() + preparations;
    // A child that cannot be waited for stays as it is: nothing else is done then.
    if (std::find(calls.begin(), end, last) != end) return last;
    const int status = trial::reap(child);
    return last == SYS_exit && status != -1 && WIFEXITED(status) ? 0 : last;
}

}  // namespace

constinit const std::span<const long> calls_while_sampling = while_sampling;
constinit const std::span<const long> calls_of_engines = of_engines;

void has_filters_of_main_thread() noexcept { made_by_main_thread = true; }

long first_killed_call() {
    const int filters = filters_here();
    if (filters == 0) return 0;
    const MemoryMap memory = trial::shared_memory(sizeof(std::atomic<long>));
    if (!memory) return 0;
    auto& making = *new (memory.data()) std::atomic<long>{0};
    long number = 0;
    while ((number = try_in_a_child(all_calls, making)) > 0) {
        if (number == SYS_exit || std::find(needed.begin(), needed.end(), number) != needed.end()) return number;
        killed[static_cast<std::size_t>(number)] = true;
    }
    if (number < 0) return 0;  // no thread can be made either, or each question asks a child of its own
    for (const long call : all_calls) tried[static_cast<std::size_t>(call)] = true;
    tried_filters = filters;
    return 0;
}

bool filter_kills_for_ours() { return filter_kills_for(needed); }

bool killed_at_load(std::initializer_list<long> system_calls) noexcept {
    return std::any_of(system_calls.begin(), system_calls.end(), kills);
}

bool filter_kills_for(std::span<const long> system_calls) {
    const int filters = filters_here();
    if (filters == 0) return false;
    const bool known = filters == tried_filters && filters != unknown_filters;
    if (known && std::all_of(system_calls.begin(), system_calls.end(),
                             [](long number) { return tried[static_cast<std::size_t>(number)]; }))
        return std::any_of(system_calls.begin(), system_calls.end(), kills);
    return trial::kills([&] {
        for (const long number : system_calls) trial::make(number);
    });
}

}  // namespace flameprobe
