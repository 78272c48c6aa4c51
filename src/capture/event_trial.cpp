#include <sys/ioctl.h>
#include <sys/mman.h>

#include <cstdint>
#include <string>

#include "base/host_process.hpp"
#include "capture/perf_event.hpp"

namespace flameprobe {
namespace {

/// Causes cache misses, and branches that are not predicted.
void provoke() {
    constexpr std::size_t bytes = 1 << 20, line = 64;
    void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    auto* const at = static_cast<volatile char*>(memory);
    for (std::uint32_t i = 0, random = 1; i < bytes / line; ++i) {
        random = random * 1664525 + 1013904223;
        if ((random >> 31) != 0) at[i * line] = 1;
    }
    ::munmap(memory, bytes);
}

/// It happens in kernel code only, so where that is left out it never counts.
bool is_left_out(const perf_event_attr& attributes) {
    return attributes.exclude_kernel != 0 && attributes.type == PERF_TYPE_SOFTWARE &&
           (attributes.config == PERF_COUNT_SW_CONTEXT_SWITCHES || attributes.config == PERF_COUNT_SW_CPU_MIGRATIONS);
}

std::string why_left_out(const CaptureOptions& options) {
    if (!options.kernel) return options.event + " happen in the kernel, which FLAMEPROBE_KERNEL=off leaves out";
    return options.event + " happen in the kernel, which may not be sampled while kernel.perf_event_paranoid is " +
           paranoid_text() + ": 1 is needed (sysctl kernel.perf_event_paranoid=1)";
}

}  // namespace

Result<void> try_event(const CaptureOptions& options) {
    auto made = make_attributes(options);
    if (!made) return made.error();
    perf_event_attr attributes = *made;
    attributes.freq = 0;
    attributes.sample_period = 0;
    attributes.sample_type = attributes.read_format = 0;
    attributes.sample_stack_user = 0;
    attributes.sample_regs_user = 0;
    attributes.inherit = attributes.inherit_thread = 0;
    attributes.mmap = attributes.mmap2 = attributes.build_id = attributes.comm = attributes.task = 0;
    const auto self = own_tid();
    const auto event = open_event(attributes, self, -1);
    if (!event) return event.error();
    if (is_left_out(attributes)) return Error{why_left_out(options)};
    if (attributes.type == PERF_TYPE_SOFTWARE) return {};
    if (::ioctl(event->get(), PERF_EVENT_IOC_ENABLE, 0) != 0) return Error{"the perf event cannot be enabled"};
    provoke();
    std::uint64_t count = 0;
    if (::read(event->get(), &count, sizeof count) != sizeof count || count != 0) return {};
    return Error{options.event +
                 " do not count on this machine, though they can be opened (virtual machines often lack hardware "
                 "counters): cpu-clock does"};
}

}  // namespace flameprobe
