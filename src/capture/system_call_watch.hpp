#pragma once

#include <cstdint>

#include "capture/handler/state.hpp"

namespace flameprobe {

/// Forbids the handler its one system call (process_vm_readv) as soon as the main thread is seen to have entered a
/// filter, since a filter may kill for it. Not for the filters that this thread has too, as everything in a
/// container: the session has tried that they do not kill (sandbox/host_restrictions.hpp). Collector thread only.
class SystemCallWatch {
public:
    /// Reads the main thread's state in /proc, at most every 50 ms, and does nothing once the call is forbidden.
    void look(handler::State& state, std::uint64_t now_ns);

private:
    std::uint64_t own_ = 0;  // filters in force for the collector
    std::uint64_t next_ns_ = 0;
};

}  // namespace flameprobe
