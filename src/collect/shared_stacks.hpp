// The last sampled stacks of each thread, for CPU time that was spent there without samples of its own.
#pragma once

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
    void add(std::uint32_t tid, const Sample& sample);
    /// These samples, without hits and with weights that add up to `cpu_ns` at most: none weighs more than it stood
    /// for. They are forgotten.
    std::vector<Sample> share(std::uint32_t tid, std::uint64_t cpu_ns);
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
