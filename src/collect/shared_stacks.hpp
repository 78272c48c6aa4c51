// The last sampled stacks of each thread, for CPU time that was spent there without samples of its own.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "profile/model.hpp"

namespace flameprobe {

/// Where each thread's last samples in system calls were. The collector thread only.
class CallStacks {
public:
    void add(std::uint32_t tid, const Sample& sample) {
        Thread& thread = threads_[tid];
        thread.last[thread.count++ % thread.last.size()] = sample;
    }
    /// These samples, without hits and with weights that add up to `cpu_ns` at most: none weighs more than it stood
    /// for. They are forgotten.
    std::vector<Sample> share(std::uint32_t tid, std::uint64_t cpu_ns) {
        const Thread thread = threads_[tid];
        threads_.erase(tid);
        std::vector<Sample> shared(thread.last.begin(),
                                   thread.last.begin() + std::min(thread.count, thread.last.size()));
        double all = 0;
        for (const Sample& sample : shared) all += static_cast<double>(sample.weight);
        const double part = std::min(1.0, static_cast<double>(cpu_ns) / all);
        for (Sample& sample : shared) {
            sample.weight = static_cast<std::uint64_t>(static_cast<double>(sample.weight) * part);
            sample.hits = 0;
        }
        return shared;
    }
    void forget(std::uint32_t tid) { threads_.erase(tid); }
    std::size_t memory() const { return threads_.size() * (sizeof(Thread) + 48); }  // bytes, estimated

private:
    struct Thread {
        std::array<Sample, 16> last{};
        std::size_t count = 0;  // in all
    };
    std::unordered_map<std::uint32_t, Thread> threads_;
};

}  // namespace flameprobe
