#include "profile/compactor.hpp"

#include <algorithm>
#include <utility>

namespace flameprobe {

void Compactor::sample(const Sample& sample) {
    std::uint64_t& sum = slots_[sample.time_ns / slot_ns_][std::uint64_t{sample.thread} << 32 | sample.stack];
    if (__builtin_add_overflow(sum, sample.weight, &sum)) sum = ~std::uint64_t{0};
    // Times go back a little where CPUs meet: a slot is over when the next one is. A sample later still is a sum more.
    if (slots_.size() > 2) pass_on_first_slot();
}

void Compactor::pass_on_first_slot() {
    const auto& [time, weights] = *slots_.begin();
    std::vector<std::pair<std::uint64_t, std::uint64_t>> sums(weights.begin(), weights.end());
    std::sort(sums.begin(), sums.end());
    for (const auto& [key, weight] : sums) {
        to_.sample(
            {time * slot_ns_ + slot_ns_ / 2, static_cast<ThreadId>(key >> 32), static_cast<StackId>(key), weight});
    }
    slots_.erase(slots_.begin());
}

void Compactor::finish() {
    while (!slots_.empty()) pass_on_first_slot();
    if (summary_) to_.summary(*summary_);
}

}  // namespace flameprobe
