// The clocks that the accounts of CPU time read: the kernel's, or a test's.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "base/host_process.hpp"
#include "base/proc.hpp"
#include "capture/timer_slots.hpp"

namespace flameprobe {

/// The collector thread only.
class CpuClocks {
public:
    virtual ~CpuClocks() = default;
    virtual std::uint64_t time_ns() const { return monotonic_ns(); }
    /// Of all the host's threads; 0: it has ended.
    virtual std::uint64_t process_ns() const { return host_cpu_ns(); }
    /// 0: the thread has ended.
    virtual std::uint64_t thread_ns(std::uint32_t tid) const { return host_thread_cpu_ns(tid); }
    /// Of the collector, and whether the process's clock includes it.
    virtual std::uint64_t own_ns() const { return collector_cpu_ns(); }
    virtual bool own_is_in_process() const { return is_in_host_process(); }
    /// By which the clock of a running thread may be behind. Read from outside of the thread group, it was set at the
    /// last scheduler tick (proc(5), schedstat).
    virtual std::uint64_t behind_ns() const { return is_in_host_process() ? 0 : tick_ns(); }
    /// Of the host, without the collector.
    virtual std::vector<std::uint32_t> threads() const { return list_other_threads(); }
};

/// Never destroyed: the collector may still use it while the host's exit destroys statics.
inline const CpuClocks& kernel_clocks() {
    static const auto& clocks = *new CpuClocks;
    return clocks;
}

}  // namespace flameprobe
