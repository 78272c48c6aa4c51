// The same stack by three unwinders at once: ours gets a copy, the others walk on the spot.
#pragma once

#include <cstdint>
#include <vector>

#include "live_map.hpp"

namespace flameprobe::testing {

struct Opinions {
    Snapshot snapshot;                     // of what a signal interrupted
    std::vector<std::uint64_t> libunwind;  // pcs, the interrupted one first
    std::vector<std::uint64_t> boost;      // Boost.Stacktrace's, from inside the handler
};

/// Interrupts the calling thread on the spot (SIGUSR1 to itself) and asks everybody.
[[gnu::noinline]] void ask_everybody(Opinions& out);

}  // namespace flameprobe::testing
