// The clocks that the accounts of CPU time read: the kernel's, or a test's.
#pragma once

#include <cstdint>
#include <vector>

namespace flameprobe {

/// The collector thread only.
class CpuClocks {
public:
    virtual ~CpuClocks() = default;
    virtual std::uint64_t time_ns() const = 0;                     // CLOCK_MONOTONIC
    virtual std::uint64_t process_ns() const = 0;                  // of all the host's threads; 0: it has ended
    virtual std::uint64_t thread_ns(std::uint32_t tid) const = 0;  // 0: the thread has ended
    virtual std::uint64_t own_ns() const = 0;                      // of the collector
    virtual bool own_is_in_process() const = 0;                    // the process's clock includes it
    virtual std::uint64_t behind_ns() const = 0;             // by which the clock of a running thread may be behind
    virtual std::vector<std::uint32_t> threads() const = 0;  // of the host, without the collector
};

/// Lives as long as the program.
const CpuClocks& kernel_clocks();

}  // namespace flameprobe
