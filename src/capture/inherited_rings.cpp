// Events that threads inherit: for a host that goes on without the right to open one for each thread.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "capture/thread_rings.hpp"

namespace flameprobe {
namespace {

constexpr std::uint32_t inherited_bytes = 128 << 10;  // of the ring of each CPU

}  // namespace

std::unique_ptr<ThreadEvents> ThreadRings::open_on_cpu(const perf_event_attr& attr, int cpu) const {
    auto events = std::make_unique<ThreadEvents>();
    events->inherited = true;
    for (const auto& thread : all_) {
        if (thread->ended) continue;
        auto event = open_alike(attr, thread->tid, cpu);
        if (!event) continue;  // the thread has ended, or the CPU is offline
        if (events->own.event) {
            if (::ioctl(event->get(), PERF_EVENT_IOC_SET_OUTPUT, events->own.event.get()) == 0)
                events->beside.push_back(std::move(*event));
            continue;
        }
        auto ring = RingBuffer::map(event->get(), inherited_bytes, inherited_bytes);
        if (!ring) return nullptr;
        events->own = {std::move(*event), std::move(*ring), 0};
    }
    return events->own.event ? std::move(events) : nullptr;
}

// An inherited event has a ring only if it is one CPU's (perf_mmap), and its counts in samples only since Linux 6.13:
// each sample stands for a period, which stays.
std::uint64_t ThreadRings::open_inherited() {
    perf_event_attr attr = settings_.own;
    if (inherits_) return attr.sample_period;
    if (settings_.rate.period_ns != 0) {
        settings_.own.sample_period = uneven_period(settings_.rate.period_ns, monotonic_ns());
        attr.sample_period = settings_.own.sample_period;
    }
    attr.inherit = attr.inherit_thread = 1;
    attr.sample_type &= ~std::uint64_t{PERF_SAMPLE_READ};
    attr.read_format = 0;
    attr.sample_stack_user = std::min<std::uint32_t>(attr.sample_stack_user, 16 << 10);
    attr.wakeup_watermark = inherited_bytes;
    std::vector<std::unique_ptr<ThreadEvents>> opened;
    for (int cpu = 0, all = static_cast<int>(::sysconf(_SC_NPROCESSORS_CONF)); cpu < all; ++cpu)
        if (auto events = open_on_cpu(attr, cpu)) opened.push_back(std::move(events));
    inherits_ = !opened.empty();
    for (auto& events : opened) {
        if (enabled_) enable(*events);
        all_.push_back(std::move(events));
    }
    return attr.sample_period;
}

}  // namespace flameprobe
