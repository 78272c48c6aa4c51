#include "profile/compactor.hpp"

#include <algorithm>
#include <utility>

namespace flameprobe {

void Compactor::sample(const Sample& sample) {
    std::uint64_t& sum = slots_[sample.time_ns / slot_ns_].weights[std::uint64_t{sample.thread} << 32 | sample.stack];
    if (__builtin_add_overflow(sum, sample.weight, &sum)) sum = ~std::uint64_t{0};
}

void Compactor::finish() {
    std::vector<std::uint64_t> times;
    for (const auto& [time, slot] : slots_) times.push_back(time);
    std::sort(times.begin(), times.end());
    for (const std::uint64_t time : times) {
        const auto& weights = slots_[time].weights;
        std::vector<std::pair<std::uint64_t, std::uint64_t>> sums(weights.begin(), weights.end());
        std::sort(sums.begin(), sums.end());
        for (const auto& [key, weight] : sums) {
            to_.sample(
                {time * slot_ns_ + slot_ns_ / 2, static_cast<ThreadId>(key >> 32), static_cast<StackId>(key), weight});
        }
    }
    slots_.clear();
    if (summary_) to_.summary(*summary_);
}

}  // namespace flameprobe
