// The kernel's own clock_gettime, which makes no system call where it need not, and sets no errno.
#pragma once

#include <dlfcn.h>
#include <time.h>

#include "cpu/kernel_abi.hpp"

namespace flameprobe {

/// Gives 0 or minus the error number. Async-signal-safe.
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
