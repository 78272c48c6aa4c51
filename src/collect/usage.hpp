// What the host used beside CPU time, as the kernel counts it: page faults and memory.
#pragma once

#include <cstdint>
#include <optional>

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

}  // namespace flameprobe
