#include "collect/shared_stacks.hpp"

#include <algorithm>
#include <numeric>

namespace flameprobe {

void CallStacks::add(std::uint32_t tid, const Sample& sample) {
    Thread& thread = threads_[tid];
    thread.last[thread.count++ % thread.last.size()] = sample;
}

std::vector<Sample> CallStacks::share(std::uint32_t tid, std::uint64_t cpu_ns) {
    const auto found = threads_.extract(tid);
    if (found.empty()) return {};
    const Thread& thread = found.mapped();
    std::vector<Sample> shared(thread.last.begin(), thread.last.begin() + std::min(thread.count, thread.last.size()));
    const auto add = [](std::uint64_t sum, const Sample& sample) { return sum + sample.weight; };
    const auto all = static_cast<double>(std::accumulate(shared.begin(), shared.end(), std::uint64_t{0}, add));
    const double part = std::min(1.0, static_cast<double>(cpu_ns) / all);
    for (Sample& sample : shared) {
        sample.weight = static_cast<std::uint64_t>(static_cast<double>(sample.weight) * part);
        sample.hits = 0;
    }
    return shared;
}

std::size_t CallStacks::memory() const { return threads_.size() * (sizeof(Thread) + 48); }

}  // namespace flameprobe
