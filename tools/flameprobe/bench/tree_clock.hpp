// CPU time of a process and all its descendants.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace flameprobe::bench {

/// Nanoseconds that the tree has used up to now: living processes by their CPU clocks, and the children they have
/// waited for by the kernel's ticks. Without the time of FlameProbe's own threads. A grandchild whose parent died
/// before it counts as long as it is in the root's process group.
std::uint64_t tree_cpu_ns(pid_t root);

}  // namespace flameprobe::bench
