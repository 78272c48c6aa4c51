#pragma once

#include <dlfcn.h>
#include <time.h>

#include <cstdint>

#include "cpu/kernel_abi.hpp"

namespace flameprobe {

inline constexpr std::uint64_t ns_per_ms = 1'000'000, ns_per_second = 1'000'000'000, ns_per_minute = 60 * ns_per_second,
                               ns_per_hour = 60 * ns_per_minute, ns_per_day = 24 * ns_per_hour;

constexpr std::uint64_t ns_of(const timespec& time) noexcept {
    return static_cast<std::uint64_t>(time.tv_sec) * ns_per_second + static_cast<std::uint64_t>(time.tv_nsec);
}

/// Nanoseconds of any clock; 0 if the clock does not exist (its thread ended). Async-signal-safe. In a host it is the
/// kernel that answers (kernel_answers.cpp).
inline std::uint64_t read_clock(clockid_t clock) noexcept {
    timespec now{};
    return ::clock_gettime(clock, &now) == 0 ? ns_of(now) : 0;
}
inline std::uint64_t monotonic_ns() noexcept { return read_clock(CLOCK_MONOTONIC); }

/// In a library in the host (kernel_answers.cpp): from now on clocks are read by system calls. Otherwise they read the
/// CPU's counter, which a thread may have made a fault (prctl(2): PR_SET_TSC).
void keep_off_counter() noexcept;

/// The CPU clock of any thread of this process, as the kernel encodes it (include/linux/posix-timers.h:
/// MAKE_THREAD_CPUCLOCK with CPUCLOCK_SCHED). pthread_getcpuclockid wants a pthread_t, which raw clone threads lack.
inline clockid_t thread_cpu_clock(std::uint32_t tid) noexcept {
    return static_cast<clockid_t>((~static_cast<clockid_t>(tid) << 3) | 6);
}

/// The CPU clock of any process (include/linux/posix-timers.h: MAKE_PROCESS_CPUCLOCK with CPUCLOCK_SCHED).
inline clockid_t process_cpu_clock(std::uint32_t pid) noexcept {
    return static_cast<clockid_t>((~static_cast<clockid_t>(pid) << 3) | 2);
}

/// The kernel's own clock_gettime, which makes no system call where it need not, and sets no errno. Gives 0 or minus
/// the error number. Async-signal-safe.
using VdsoClock = int (*)(clockid_t, timespec*);

/// The vdso is in the link map under this name (vdso(7)). Null where there is none: valgrind hides it.
inline VdsoClock find_vdso_clock() noexcept {
    void* const vdso = ::dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (vdso == nullptr) return nullptr;
    const auto clock = reinterpret_cast<VdsoClock>(::dlsym(vdso, cpu::vdso_clock_gettime));
    ::dlclose(vdso);
    return clock;
}

}  // namespace flameprobe
