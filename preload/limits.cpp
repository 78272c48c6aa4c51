// Limits of resources (setrlimit(2)) that we would make narrower.
//
// RLIMIT_RTTIME of 0, where a host lowers all limits. The kernel looks at it for threads of real-time priority, and for
// those that have or had a CPU timer, of whatever priority: it kills the process then (kernel/time/posix-cpu-timers.c,
// check_thread_timers). Alone nothing happens. With a microsecond, less than a tick, nothing happens either.
//
// RLIMIT_MEMLOCK: a host may lock as much memory as without FlameProbe (session/host_resources.hpp).
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "interpose.hpp"
#include "parts.hpp"

namespace flameprobe {
namespace {

int (*next_mlockall)(int) = nullptr;
int (*next_setrlimit)(__rlimit_resource_t, const rlimit64*) = nullptr;
int (*next_prlimit)(pid_t, __rlimit_resource, const rlimit64*, rlimit64*) = nullptr;

/// What the kernel is told: `limits`, or what is put into `changed`.
const rlimit64* with_room(int resource, const rlimit64* limits, rlimit64& changed) noexcept {
    if (resource != RLIMIT_RTTIME || limits == nullptr || !is_readable(limits)) return limits;
    const flameprobe_core* core = core_if_loaded();
    if ((limits->rlim_cur != 0 && limits->rlim_max != 0) || core == nullptr || core->attaches_threads() == 0)
        return limits;
    changed = {limits->rlim_cur != 0 ? limits->rlim_cur : 1, limits->rlim_max != 0 ? limits->rlim_max : 1};
    return &changed;
}

}  // namespace
}  // namespace flameprobe

using namespace flameprobe;

FLAMEPROBE_INTERPOSED int setrlimit64(__rlimit_resource_t resource, const rlimit64* limits) noexcept {
    rlimit64 changed;
    return next(next_setrlimit, "setrlimit")(resource, with_room(resource, limits, changed));
}
FLAMEPROBE_INTERPOSED int prlimit64(pid_t process, __rlimit_resource resource, const rlimit64* limits,
                                    rlimit64* before) noexcept {
    rlimit64 changed;
    return next(next_prlimit, "prlimit")(process, resource, with_room(resource, limits, changed), before);
}

// The same for CPUs of 64 bits. In this code the names stand for those above (_FILE_OFFSET_BITS). clang does not know
// `copy`, nor gcc's warning about attributes that an alias lacks.
#if __has_attribute(copy)
#define LIKE(function) __attribute__((alias(#function), copy(function)))
#else
#define LIKE(function) __attribute__((alias(#function)))
#endif
FLAMEPROBE_INTERPOSED LIKE(setrlimit64)
int flameprobe_setrlimit_(__rlimit_resource_t, const rlimit64*) __asm__("setrlimit");
FLAMEPROBE_INTERPOSED LIKE(prlimit64)
int flameprobe_prlimit_(pid_t, __rlimit_resource, const rlimit64*, rlimit64*) __asm__("prlimit");

FLAMEPROBE_INTERPOSED int mlockall(int flags) noexcept {
    const int result = next(next_mlockall, "mlockall")(flags);
    if (result == 0 || errno != ENOMEM || (flags & MCL_CURRENT) == 0) return result;
    const flameprobe_core* const core = core_if_loaded();
    const OwnAllocations own;
    if (core != nullptr && core->lock_host_memory(flags) != 0) return 0;
    errno = ENOMEM;
    return result;
}
