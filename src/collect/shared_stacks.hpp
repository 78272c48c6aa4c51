// The last sampled stacks of each thread, for CPU time that was spent there without samples of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "profile/model.hpp"

namespace flameprobe {

/// Where each thread's page faults were, as perf sampled them, until it is known how much CPU time they took: that
/// time is shared out by numbers of faults, as if each cost the same. The collector thread only.
class FaultStacks {
public:
    /// The last of `faults` page faults was at this stack; the sample's weight is not used.
    void add(std::uint32_t tid, const Sample& sample, std::uint64_t faults);
    /// The thread's samples since the last time, or if there are none its last ones, with `periods` in all as their
    /// weights. Empty if it has none.
    std::vector<Sample> share(std::uint32_t tid, std::uint64_t periods);
    void forget(std::uint32_t tid) { threads_.erase(tid); }
    std::size_t memory() const;  // bytes, estimated

private:
    struct Fault {
        Sample sample;
        std::uint64_t faults = 0;
    };
    struct Thread {
        std::array<Fault, 32> last{};
        std::size_t count = 0;  // since they were shared last, in all
        bool shared = false;
    };
    std::unordered_map<std::uint32_t, Thread> threads_;
};

/// Where each thread's last samples in system calls were. The collector thread only.
class CallStacks {
public:
    void add(std::uint32_t tid, const Sample& sample);
    /// These samples, with weights that add up to `periods` at most: none weighs more than it stood for. They are
    /// forgotten.
    std::vector<Sample> share(std::uint32_t tid, std::uint64_t periods);
    void forget(std::uint32_t tid) { threads_.erase(tid); }
    std::size_t memory() const;  // bytes, estimated

private:
    struct Thread {
        std::array<Sample, 16> last{};
        std::size_t count = 0;  // in all
    };
    std::unordered_map<std::uint32_t, Thread> threads_;
};

}  // namespace flameprobe
