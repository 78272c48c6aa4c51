// The same stack for three unwinders: a copy for ours; libunwind and Boost.Stacktrace walk the live one.
#pragma once

#include <cstdint>
#include <vector>

#include "live_map.hpp"

namespace flameprobe::testing {

struct OtherWalks {
    Snapshot snapshot;                     // of what a signal interrupted
    std::vector<std::uint64_t> libunwind;  // pcs, the interrupted one first
    std::vector<std::uint64_t> boost;      // Boost.Stacktrace's, from inside the handler
};

/// Interrupts the calling thread (SIGUSR1 to itself); the handler copies the stack and lets the others walk it.
[[gnu::noinline]] void walk_with_others(OtherWalks& out);

}  // namespace flameprobe::testing
