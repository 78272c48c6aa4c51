#include "collect/shared_stacks.hpp"

#include <algorithm>

namespace flameprobe {

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
