#include "capture/attached_threads.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "capture/perf_event.hpp"
#include "capture/record.hpp"

namespace flameprobe {
AttachedThreads::Counts AttachedThreads::attach(std::span<const CpuRing> rings,
                                                const perf_event_attr& switch_attributes) {
    Counts counts;
    attach_running_threads([&](std::uint32_t tid) {
        ++counts.threads;
        const auto outcome = counts.without_descriptor == 0 ? attach_thread(tid, rings, switch_attributes, counts)
                                                            : Outcome::no_descriptor;
        if (outcome == Outcome::no_descriptor) ++counts.without_descriptor;
        return outcome == Outcome::attached;
    });
    return counts;
}

AttachedThreads::Outcome AttachedThreads::attach_thread(std::uint32_t tid, std::span<const CpuRing> rings,
                                                        const perf_event_attr& switch_attributes, Counts& counts) {
    std::vector<Descriptor> events, switches;
    for (const CpuRing& ring : rings) {
        auto event = open_beside(ring.attributes, tid, ring);
        if (!event && errno == ESRCH) break;  // the thread has ended
        if (event ? !leaves_descriptors(*event) : errno == EMFILE) return Outcome::no_descriptor;
        if (!event) {  // the other CPUs may take it
            ++counts.refused;
            counts.refusal = event.error().message;
            continue;
        }
        events.push_back(std::move(*event));
        if (!ring.switches) continue;
        auto beside = open_beside(switch_attributes, tid, ring);
        if (beside ? !leaves_descriptors(*beside) : errno == EMFILE) return Outcome::no_descriptor;
        if (beside) switches.push_back(std::move(*beside));
    }
    if (events.empty()) return Outcome::ended_or_refused;
    std::move(events.begin(), events.end(), std::back_inserter(events_));
    std::move(switches.begin(), switches.end(), std::back_inserter(switches_));
    return Outcome::attached;
}

void AttachedThreads::control(unsigned long request) const {
    for (const auto* events : {&switches_, &events_})
        for (const auto& event : *events) ::ioctl(event.get(), request, 0);
}

void AttachedThreads::stop_switches() {
    for (const auto& event : switches_) ::ioctl(event.get(), PERF_EVENT_IOC_DISABLE, 0);
    switches_.clear();
}

bool AttachedThreads::ended() const { return std::all_of(events_.begin(), events_.end(), has_hung_up); }

bool AttachedThreads::is_second(std::span<CpuRing> rings, CpuRing& ring, std::span<const std::byte> record) const {
    if (events_.empty()) return false;
    if (const std::uint32_t tid = born_or_ended(record); tid != 0)
        for (auto& each : rings) each.newest_events.erase(tid);
    const std::uint32_t tid = sampled_thread(record);
    if (tid == 0) return false;
    const std::uint64_t event = sampling_event(record);
    std::uint64_t& newest = ring.newest_events[tid];
    newest = std::max(newest, event);
    return event < newest;
}

}  // namespace flameprobe
