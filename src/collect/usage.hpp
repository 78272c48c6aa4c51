// What the host used by the kernel's account, beside CPU time: page faults and memory.
#pragma once

#include <cstdint>
#include <optional>

#include "profile/blocked_calls.hpp"

namespace flameprobe {

struct Usage {
    std::uint64_t minor_faults = 0, major_faults = 0;
    std::uint64_t peak_bytes = 0;  // resident; 0: not known
};

/// Of the host, since it began; nothing where /proc does not tell. Two system calls and the kernel's text: some 30 us.
std::optional<Usage> read_usage();

/// What was used while sampling was on. The collector thread only.
class UsageAccount {
public:
    void begin(std::uint64_t now_ns);
    /// `at_the_end`: now, and not once a second. A host that is gone leaves what was read last.
    void read(std::uint64_t now_ns, bool at_the_end);
    void add_to(Counters& counters) const;

private:
    std::optional<Usage> last_;
    std::uint64_t read_ns_ = 0;
    Usage sum_;
};

}  // namespace flameprobe
