// The time axis of a run of several processes, each of which counts from its own start.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "outside/processes.hpp"

namespace flameprobe {

/// By the monotonic clock, which cannot be set; by the wall clock if a process's file, of an earlier version, lacks it.
class RunClock {
public:
    explicit RunClock(const std::vector<ProcessPart>& parts)
        : monotonic_(
              std::ranges::all_of(parts, [](const ProcessPart& part) { return part.run.start_monotonic_ns != 0; })) {
        for (const ProcessPart& part : parts) begin_ns_ = std::min(begin_ns_, start(part.run));
    }
    /// How long after the run's begin a process began.
    std::uint64_t start_of(const RunInfo& run) const { return std::max(start(run), begin_ns_) - begin_ns_; }

private:
    std::uint64_t start(const RunInfo& run) const { return monotonic_ ? run.start_monotonic_ns : run.start_unix_ns; }

    bool monotonic_;
    std::uint64_t begin_ns_ = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace flameprobe
