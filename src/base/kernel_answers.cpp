// What time it is and who we are, by the kernel. A host, or another library that is preloaded, may have functions of
// these names that say something else: libfaketime adds a day to each clock, and the account of CPU time had that day.
// So each of our two libraries in the host has its own, by the same names: whatever is linked into them, libstdc++
// included, finds these. They are hidden: the host never does. All are async-signal-safe.
#include <errno.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "cpu/instructions.hpp"

#define FLAMEPROBE_HIDDEN extern "C" __attribute__((visibility("hidden")))

namespace {

constinit flameprobe::VdsoClock vdso_clock = nullptr;  // until it is found, system calls answer

__attribute__((constructor(101))) void find_clock() { vdso_clock = flameprobe::find_vdso_clock(); }

long ask(long number, long a = 0, long b = 0) noexcept {
    return flameprobe::cpu::system_call(number, a, b, 0, 0, 0, 0);
}

}  // namespace

__attribute__((visibility("hidden"))) void flameprobe::keep_off_counter() noexcept {
    __atomic_store_n(&vdso_clock, nullptr, __ATOMIC_RELAXED);
}

FLAMEPROBE_HIDDEN int clock_gettime(clockid_t clock, timespec* now) noexcept {
    const flameprobe::VdsoClock by_vdso = __atomic_load_n(&vdso_clock, __ATOMIC_RELAXED);
    const long failed = by_vdso != nullptr
                            ? by_vdso(clock, now)
                            : ask(SYS_clock_gettime, long{clock}, static_cast<long>(reinterpret_cast<uintptr_t>(now)));
    if (failed == 0) return 0;
    errno = static_cast<int>(-failed);
    return -1;
}

FLAMEPROBE_HIDDEN time_t time(time_t* out) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (out != nullptr) *out = now.tv_sec;
    return now.tv_sec;
}

FLAMEPROBE_HIDDEN int gettimeofday(timeval* out, void*) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    *out = {now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

FLAMEPROBE_HIDDEN pid_t getpid() noexcept { return static_cast<pid_t>(ask(SYS_getpid)); }
FLAMEPROBE_HIDDEN pid_t gettid() noexcept { return static_cast<pid_t>(ask(SYS_gettid)); }
