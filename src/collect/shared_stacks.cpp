#include "collect/shared_stacks.hpp"

#include <algorithm>

#include "base/elementary.hpp"

namespace flameprobe {

void FaultStacks::add(std::uint32_t tid, const Sample& sample, std::uint64_t faults) {
    Thread& thread = threads_[tid];
    if (thread.shared) thread.count = 0;
    thread.shared = false;
    thread.last[thread.count++ % thread.last.size()] = {sample, faults};
}

std::vector<Sample> FaultStacks::share(std::uint32_t tid, std::uint64_t periods) {
    const auto found = threads_.find(tid);
    if (found == threads_.end()) return {};
    Thread& thread = found->second;
    thread.shared = true;
    const std::size_t count = std::min(thread.count, thread.last.size());
    double all = 0, so_far = 0;
    for (std::size_t i = 0; i < count; ++i) all += static_cast<double>(thread.last[i].faults);
    std::vector<Sample> shared;
    std::uint64_t given = 0;
    for (std::size_t i = 0; i < count; ++i) {
        so_far += static_cast<double>(thread.last[i].faults);
        const auto upto = rounded(static_cast<double>(periods) * so_far / all);
        if (upto == given) continue;
        Sample sample = thread.last[i].sample;
        sample.weight = upto - given;
        given = upto;
        shared.push_back(sample);
    }
    return shared;
}

std::size_t FaultStacks::memory() const { return threads_.size() * (sizeof(Thread) + 48); }

void CallStacks::add(std::uint32_t tid, const Sample& sample) {
    Thread& thread = threads_[tid];
    thread.last[thread.count++ % thread.last.size()] = sample;
}

std::vector<Sample> CallStacks::share(std::uint32_t tid, std::uint64_t periods) {
    const auto found = threads_.find(tid);
    if (found == threads_.end()) return {};
    const std::size_t count = std::min(found->second.count, found->second.last.size());
    std::vector<Sample> shared;
    for (std::size_t i = 0; i < count && periods != 0; ++i) {
        const std::uint64_t fair = (periods + count - i - 1) / (count - i);
        Sample sample = found->second.last[i];
        sample.weight = std::min({fair, sample.weight, periods});
        periods -= sample.weight;
        shared.push_back(sample);
    }
    threads_.erase(found);
    return shared;
}

std::size_t CallStacks::memory() const { return threads_.size() * (sizeof(Thread) + 48); }

}  // namespace flameprobe
