#pragma once

#include <cstdint>

namespace flameprobe {

/// How far CLOCK_MONOTONIC of this process is ahead of the machine's, which perf tells: that of a time namespace has an
/// offset (time_namespaces(7)). 0 in the first one, and where /proc does not tell it.
std::int64_t monotonic_lead_ns();

}  // namespace flameprobe
