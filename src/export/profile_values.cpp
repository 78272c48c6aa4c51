#include <algorithm>
#include <limits>

#include "export/profile_tables.hpp"
#include "outside/counters.hpp"

namespace flameprobe {

namespace {

std::string type_of(const std::string& event) {
    if (event.empty() || event == "cpu" || event == "cpu-clock" || event == "task-clock") return "cpu";
    std::string type = event;
    std::ranges::replace(type, '-', '_');
    return type;
}

/// As Go and jemalloc call them.
ProfileValue allocation_value(const std::string& event) {
    const std::string what = event.starts_with(event_name::heap_end) ? "leaked"
                             : event.starts_with(event_name::heap)   ? "inuse"
                                                                     : "alloc";
    return event.ends_with("objects") ? ProfileValue{what + "_objects", "count"}
                                      : ProfileValue{what + "_space", "bytes"};
}

}  // namespace

std::uint64_t sampling_period_ns(const RunInfo& run) {
    if (run.period_ns == 1 && run.frequency_asked != 0) return 1'000'000'000 / run.frequency_asked;
    return std::max<std::uint64_t>(run.period_ns, 1);
}

ProfileValues values_of(const NamedProfile& profile) {
    if (!profile.has_run) return {{{"samples", "count"}}, "samples", "count", 1};
    const RunInfo& run = profile.run;
    const std::string type = type_of(run.event);
    if (weighs_nanoseconds(run)) {
        const ProfileValue time{type, "nanoseconds"};
        const std::uint64_t period = sampling_period_ns(run);
        if (counts_waiting(run)) return {{time}, type, "nanoseconds", period};  // waits are not samples of a clock
        return {{{"samples", "count", true}, time}, type, "nanoseconds", period};
    }
    if (is_of_allocations(run.event)) {
        const ProfileValue value = allocation_value(run.event);
        // Of bytes between two samples; 1 where it is not known.
        const std::uint64_t mean = counter_value(profile.summary.counters, counter::allocation_mean).value_or(1);
        if (!counts_bytes(run)) return {{value}, "space", "bytes", mean};
        return {{{"samples", "count", true}, value}, "space", "bytes", mean};
    }
    if (run.event_kind == "software event") return {{{type, "count"}}, type, "count", 1};
    // Merged runs of different periods or events: only their samples can be added up.
    if (run.event_kind != "hardware counter") return {{{"samples", "count"}}, "samples", "count", 1};
    return {{{type, "samples"}}, type, "count", 0};
}

std::uint64_t amount(const ProfileValue& value, std::uint64_t weight, std::uint64_t hits) {
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    return std::min(value.is_hits ? hits : weight, most);
}

}  // namespace flameprobe
