#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace flameprobe {

/// For how many periods each sample stands, by what its event had counted (PERF_SAMPLE_READ). The kernel's timer may
/// come late, on a busy virtual machine by several periods, and gives one sample then: the count has all of them.
/// The collector thread only.
class EventCounts {
public:
    /// The thread was sampled by `event` (PERF_SAMPLE_ID) with this period, when the event's copy in the thread had
    /// counted `count_ns`. At least 1. What the count is more or less than whole periods goes on to the next sample.
    std::uint64_t periods(std::uint32_t tid, std::uint64_t event, std::uint64_t count_ns, std::uint64_t period_ns) {
        Event& last = of(tid, event);
        const auto due = static_cast<std::int64_t>(count_ns - std::min(count_ns, last.count_ns)) + last.rest_ns;
        const auto period = static_cast<std::int64_t>(period_ns);
        const std::int64_t whole = std::max<std::int64_t>(1, (due + period / 2) / period);
        last.count_ns = count_ns;
        last.rest_ns = std::clamp(due - whole * period, -period, period);
        return static_cast<std::uint64_t>(whole);
    }
    /// The thread has ended, or another one has got its id.
    void forget(std::uint32_t tid) { threads_.erase(tid); }

private:
    struct Event {
        std::uint64_t event = 0, count_ns = 0;
        std::int64_t rest_ns = 0;
    };
    Event& of(std::uint32_t tid, std::uint64_t event) {
        auto& events = threads_[tid];
        const auto known =
            std::find_if(events.begin(), events.end(), [event](const Event& each) { return each.event == event; });
        return known != events.end() ? *known : events.emplace_back(Event{event});
    }

    std::unordered_map<std::uint32_t, std::vector<Event>> threads_;
};

}  // namespace flameprobe
