#pragma once

namespace flameprobe {

/// mlockall(2) with MCL_CURRENT refuses if the whole address space is larger than RLIMIT_MEMLOCK, and ours is tens of
/// megabytes, most of it a heap of libc's that is hardly used. Does what was asked for without ours, if the rest is
/// small enough. Allocates.
bool lock_host_memory(int flags);

}  // namespace flameprobe
