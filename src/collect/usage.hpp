// What the host used beside CPU time, as the kernel counts it: page faults and memory. And what it did, as it counts
// itself: units of work (flameprobe/count.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "profile/counters.hpp"

namespace flameprobe {

struct Usage {
    std::uint64_t minor_faults = 0, major_faults = 0;
    std::uint64_t peak_bytes = 0;  // resident; 0: not known
};

/// What was used while sampling was on. The collector thread only.
class UsageAccount {
public:
    void begin(std::uint64_t now_ns);
    /// Reads once a second, or at once if `at_the_end`. Once the host has ended the last reading stays.
    void read(std::uint64_t now_ns, bool at_the_end);
    void add_to(Counters& counters) const;

private:
    std::optional<Usage> last_;
    std::uint64_t read_ns_ = 0;
    Usage sum_;
};

/// Units of work, as they stand: by name, since the process began: a forked child does not count what it inherited.
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
