#include "export/profile_values.hpp"

#include <algorithm>
#include <limits>

namespace flameprobe {

namespace {

std::string type_of(const std::string& event) {
    if (event.empty() || event == "cpu" || event == "cpu-clock" || event == "task-clock") return "cpu";
    std::string type = event;
    std::replace(type.begin(), type.end(), '-', '_');
    return type;
}

}  // namespace

ProfileValues values_of(const NamedProfile& profile) {
    if (!profile.has_run) return {{{"samples", "count", 1}}, "samples", "count", 1};
    const RunInfo& run = profile.run;
    const std::string type = type_of(run.event);
    // Merged processes with different periods have weights in nanoseconds; the period shown is that of the frequency
    // asked for.
    if (run.period_ns == 1) {
        const ProfileValue time{type, "nanoseconds", 1};
        const std::uint64_t period = run.frequency_asked == 0 ? 1 : 1'000'000'000 / run.frequency_asked;
        if (counts_waiting(run)) return {{time}, type, "nanoseconds", period};  // waits are not samples of a clock
        return {{{"samples", "count", 1, true}, time}, type, "nanoseconds", period};
    }
    if (run.period_ns > 0)
        return {
            {{"samples", "count", 1, true}, {type, "nanoseconds", run.period_ns}}, type, "nanoseconds", run.period_ns};
    if (counts_bytes(run)) {  // as Go and jemalloc call them
        const std::string space = run.event == event_name::heap ? "inuse_space" : "alloc_space";
        return {{{"samples", "count", 1, true}, {space, "bytes", 1}}, "space", "bytes", 1};
    }
    if (run.event_kind == "software event") return {{{type, "count", 1}}, type, "count", 1};
    // Merged runs of different periods or events: only their samples can be added up.
    if (run.event_kind != "hardware counter") return {{{"samples", "count", 1}}, "samples", "count", 1};
    return {{{type, "samples", 1}}, type, "count", 0};
}

std::uint64_t amount(const ProfileValue& value, std::uint64_t weight, std::uint64_t hits) {
    return value.is_hits ? in_units(value, hits) : in_units(value, weight);
}

std::uint64_t in_units(const ProfileValue& value, std::uint64_t weight) {
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    return weight > most / value.of_each ? most : weight * value.of_each;
}

}  // namespace flameprobe
