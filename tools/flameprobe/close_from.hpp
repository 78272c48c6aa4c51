#pragma once

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace flameprobe {

/// Closes the descriptors from `first` to `last`, if there are such.
inline void close_between(int first, int last) {
    for (int descriptor = first; descriptor <= last; ++descriptor) ::close(descriptor);
}

/// Closes all descriptors of this process from `first` on. glibc has close_range(2) since 2.34, Linux since 5.9.
inline void close_from(unsigned first) {
    if (::syscall(SYS_close_range, first, ~0U, 0) == 0) return;
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    for (unsigned descriptor = first; descriptor < limit.rlim_cur; ++descriptor) ::close(static_cast<int>(descriptor));
}

}  // namespace flameprobe
