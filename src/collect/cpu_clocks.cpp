#include "collect/cpu_clocks.hpp"

#include "base/clock.hpp"
#include "base/host_process.hpp"
#include "base/proc.hpp"
#include "capture/thread_timers.hpp"

namespace flameprobe {
namespace {

class KernelClocks final : public CpuClocks {
public:
    std::uint64_t time_ns() const override { return monotonic_ns(); }
    std::uint64_t process_ns() const override { return host_cpu_ns(); }
    std::uint64_t thread_ns(std::uint32_t tid) const override { return host_thread_cpu_ns(tid); }
    std::uint64_t own_ns() const override { return collector_cpu_ns(); }
    bool own_is_in_process() const override { return is_in_host_process(); }
    // Read from outside of the thread group, a clock was set at the last scheduler tick (proc(5), schedstat).
    std::uint64_t behind_ns() const override { return is_in_host_process() ? 0 : tick_ns(); }
    std::vector<std::uint32_t> threads() const override { return list_other_threads(); }
};

}  // namespace

// Never destroyed: the collector may still use it while the host's exit destroys statics.
const CpuClocks& kernel_clocks() {
    static const auto& clocks = *new KernelClocks;
    return clocks;
}

}  // namespace flameprobe
