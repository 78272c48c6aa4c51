// Units of work that the host counts (flameprobe/count.h), as they stand.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace flameprobe {

/// By name, since the process began: a forked child does not count what it inherited.
using UnitCounts = std::map<std::string, std::uint64_t>;

/// Where the counters are, which only the session knows. `any`: whether one is not 0; async-signal-safe.
struct UnitCounters {
    UnitCounts (*read)() = nullptr;
    bool (*any)() noexcept = nullptr;
};
/// Once, before there is a collector.
void read_unit_counts_by(UnitCounters counters);
/// To be called in a forked child before anything else: its own counts begin here.
void begin_unit_counts();
/// The collector thread only.
UnitCounts unit_counts();
/// Whether this process, or its parents before they forked, counted anything. Async-signal-safe.
bool any_units_counted() noexcept;

}  // namespace flameprobe
