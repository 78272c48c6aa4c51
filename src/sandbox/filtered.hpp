// Whether the host's threads may be in a seccomp filter that kills for any system call it does not know. From then on
// nothing of ours makes one in them: they ask the collector through memory alone, and wait for it spinning.
#pragma once

#include <atomic>

namespace flameprobe {

/// Inherited by forked children, as the filter is. Set before the filter is entered, and never reset.
inline constinit std::atomic<bool> host_is_filtered{false};

}  // namespace flameprobe
