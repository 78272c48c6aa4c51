#include "profile/compactor.hpp"

#include <algorithm>
#include <utility>

namespace flameprobe {

void Compactor::add(EventId event, const Sample& sample) {
    Sum& sum = slots_[sample.time_ns / slot_ns_][event][std::uint64_t{sample.thread} << 32 | sample.stack];
    sum.weight = add_saturated(sum.weight, sample.weight);
    sum.hits = add_saturated(sum.hits, sample.hits);
    // Samples of several CPUs are not quite in order of time, so a slot is passed on when two later ones have begun. A
    // sample that comes later still makes a sum of its own.
    if (slots_.size() > 2) pass_on_first_slot();
}

void Compactor::pass_on_first_slot() {
    const auto& [time, of_slot] = *slots_.begin();
    for (const auto& [event, of_event] : of_slot) {
        std::vector<std::pair<std::uint64_t, Sum>> sums(of_event.begin(), of_event.end());
        std::sort(sums.begin(), sums.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (const auto& [key, sum] : sums) {
            const Sample together{time * slot_ns_ + slot_ns_ / 2, static_cast<ThreadId>(key >> 32),
                                  static_cast<StackId>(key), sum.weight, sum.hits};
            event == 0 ? to_.sample(together) : to_.event_sample(event, together);
        }
    }
    slots_.erase(slots_.begin());
}

void Compactor::count(const WorkCount& count) {
    CountSum& sum = counts_[{count.time_ns / slot_ns_, count.name}];
    sum.amount = add_saturated(sum.amount, count.amount);
    sum.last_ns = std::max(sum.last_ns, count.time_ns);
}

void Compactor::finish() {
    while (!slots_.empty()) pass_on_first_slot();
    for (const auto& [key, sum] : counts_) to_.count({sum.last_ns, key.second, sum.amount});
    if (summary_) to_.summary(*summary_);
}

}  // namespace flameprobe
