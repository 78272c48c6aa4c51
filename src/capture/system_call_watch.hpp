#pragma once

#include <cstdint>
#include <string>

#include "base/proc.hpp"
#include "capture/handler/state.hpp"

namespace flameprobe {

/// Forbids the handler its one system call (process_vm_readv) as soon as the main thread is seen to have entered a
/// filter, since a filter may kill for it. Not for the filters that this thread has too, as everything in a
/// container: the session has tried that they do not kill (sandbox/host_restrictions.hpp). Collector thread only.
class SystemCallWatch {
public:
    /// Reads the main thread's state in /proc, at most every 50 ms, and does nothing once the call is forbidden.
    void look(handler::State& state, std::uint64_t now_ns) {
        if (now_ns < next_ns_ || !state.may_call.load(std::memory_order_relaxed)) return;
        if (next_ns_ == 0) own_ = filters("/proc/thread-self/status");
        next_ns_ = now_ns + 50'000'000;
        const int now = filters("/proc/self/status");  // of the main thread
        if (now == unknown_filters || now > own_) state.may_call.store(false, std::memory_order_relaxed);
    }

private:
    static int filters(const char* status) { return filters_in_force(read_small_file(status).value_or("")); }

    int own_ = 0;  // filters in force for the collector
    std::uint64_t next_ns_ = 0;
};

}  // namespace flameprobe
