// What a filter of system calls does cannot be asked, only tried: by a child, which may be killed for it.
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cstddef>
#include <cstdint>

#include "base/memory_map.hpp"
#include "capture/handler/raw_system_call.hpp"

namespace flameprobe::trial {

/// No argument but for those that a child prepares itself with: it runs no handler of the host, leaves no core file of
/// a death that was asked for, and ends after a second of CPU time. -1 is no valid first argument of the others.
inline void make(long number) noexcept {
    constexpr std::uint64_t all = ~std::uint64_t{0};
    constexpr rlimit none{0, 0}, one_second{1, 1};
    using handler::system_call;
    if (number == SYS_rt_sigprocmask) {
        system_call(number, SIG_SETMASK, &all, 0L, sizeof all);
    } else if (number == SYS_prlimit64) {
        system_call(number, 0, RLIMIT_CORE, &none, 0L);
        system_call(number, 0, RLIMIT_CPU, &one_second, 0L);
    } else if (number == SYS_prctl) {
        system_call(number, PR_SET_DUMPABLE, 0);
    } else {
        system_call(number, -1L, -1L, -1L, -1L, -1L, -1L);
    }
}

/// Which a child and its parent both see. Empty if there is none.
inline MemoryMap shared_memory(std::size_t size) noexcept {
    void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? MemoryMap() : MemoryMap(memory, size);
}

// A filter may also refuse exit_group: the limit of CPU time ends the child then.
[[noreturn]] inline void end() noexcept {
    for (;;) handler::system_call(SYS_exit_group, 0);
}

/// Runs `trial` in a child, and waits for its end. Bare calls, since libc's are interposed. The child has no exit
/// signal, so the host gets no SIGCHLD and wait(2) does not see it; no tracer is handed it. CLONE_VFORK waits without a
/// call. Gives its id, or minus the error number; it is to be reaped.
template <class Trial>
long run(Trial body) noexcept {
    const long child = handler::system_call(SYS_clone, CLONE_VFORK | CLONE_UNTRACED);
    if (child != 0) return child;
    body();
    end();
}

/// Gives its status (wait4(2)), or -1.
inline int reap(long child) noexcept {
    int status = -1;
    const long waited = handler::system_call(SYS_wait4, child, &status, __WCLONE, 0L);
    return waited == child ? status : -1;
}

/// Whether a child is killed for what `trial` does. True where no child can be made: better no samples than no host.
template <class Trial>
bool kills(Trial body) noexcept {
    const long child = run([&] {
        for (const long number : {SYS_rt_sigprocmask, SYS_prlimit64}) make(number);
        body();
    });
    if (child < 0) return true;
    const int status = reap(child);
    return status == -1 || !WIFEXITED(status);
}

}  // namespace flameprobe::trial
