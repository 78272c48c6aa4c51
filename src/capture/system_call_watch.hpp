#pragma once

#include <cstdint>

#include "capture/handler/state.hpp"

namespace flameprobe {

/// Forbids the handler its one system call (process_vm_readv) as soon as a seccomp filter is seen, since a filter may
/// kill for it. Collector thread only.
class SystemCallWatch {
public:
    /// Looks at the main thread's and the own state in /proc, at most every 50 ms, and does nothing once it is
    /// forbidden.
    void look(handler::State& state, std::uint64_t now_ns);

private:
    std::uint64_t next_ns_ = 0;
};

}  // namespace flameprobe
