#include "outside/compactor.hpp"

#include <algorithm>

#include "profile/writer.hpp"

namespace flameprobe {

namespace {

class LastTime final : public PartialSink {
public:
    std::uint64_t ns = 0;
    void sample(const Sample& sample) override { ns = std::max(ns, sample.time_ns); }
    void event_sample(EventId /*event*/, const Sample& sample) override { ns = std::max(ns, sample.time_ns); }
};

}  // namespace

void Compactor::add(EventId event, const Sample& sample) {
    (event == 0 ? last_own_ : last_other_).time_ns = sample.time_ns;
    Sum& sum = slots_[sample.time_ns / slot_ns_][event][std::uint64_t{sample.thread} << 32 | sample.stack];
    sum.add({sample.weight, sample.hits});
    sum.aged += static_cast<double>(sample.weight) * static_cast<double>(sample.age_ns);
    // Samples of several CPUs are not quite in order of time, so a slot is passed on when two later ones have begun. A
    // sample that comes later still makes a sum of its own.
    if (slots_.size() > 2) pass_on_first_slot();
}

void Compactor::pass_on_first_slot() {
    const auto& [time, of_slot] = *slots_.begin();
    for (const auto& [event, of_event] : of_slot) {
        std::vector<std::pair<std::uint64_t, Sum>> sums(of_event.begin(), of_event.end());
        std::ranges::sort(sums, {}, [](const auto& sum) { return sum.first; });
        for (const auto& [key, sum] : sums) {
            const double age = sum.weight == 0 ? 0 : sum.aged / static_cast<double>(sum.weight);
            const Sample together{time * slot_ns_ + slot_ns_ / 2,
                                  static_cast<ThreadId>(key >> 32),
                                  static_cast<StackId>(key),
                                  sum.weight,
                                  sum.hits,
                                  static_cast<std::uint64_t>(age)};
            Last& last = event == 0 ? last_own_ : last_other_;
            pass_on(last);
            last.held.emplace(event, together);
        }
    }
    slots_.erase(slots_.begin());
}

void Compactor::pass_on(Last& last) {
    if (!last.held) return;
    const auto& [event, sample] = *last.held;
    event == 0 ? to_.sample(sample) : to_.event_sample(event, sample);
    last.held.reset();
}

void Compactor::host(const HostRecord& record) {
    std::visit([this](const auto& kind) { add(kind); }, record);
}

void Compactor::add(const WorkCount& count) {
    CountSum& sum = counts_[{count.time_ns / slot_ns_, count.name}];
    sum.amount = add_saturated(sum.amount, count.amount);
    sum.last_ns = std::max(sum.last_ns, count.time_ns);
}

void Compactor::add(const RequestTimes& times) {
    RequestSum& sum = requests_[{times.time_ns / slot_ns_, times.label}];
    sum.durations.add(times);
    sum.last_ns = std::max(sum.last_ns, times.time_ns);
}

void Compactor::finish() {
    while (!slots_.empty()) pass_on_first_slot();
    for (Last* last : {&last_own_, &last_other_}) {
        if (last->held) last->held->second.time_ns = last->time_ns;
        pass_on(*last);
    }
    for (const auto& [key, sum] : counts_) to_.host(WorkCount{sum.last_ns, key.second, sum.amount});
    for (const auto& [key, sum] : requests_) to_.host(sum.durations.record(sum.last_ns, key.second));
    if (summary_) to_.summary(*summary_);
}

Result<void> compact_profile(const std::string& path, Descriptor file) {
    constexpr std::uint64_t slots = 64;
    LastTime last;
    if (auto read = read_profile(path, last); !read) return read.error();
    ProfileWriter smaller(std::move(file));
    Compactor compactor(smaller, last.ns / slots + 1);
    if (auto read = read_profile(path, compactor); !read) return read.error();
    compactor.finish();
    return smaller.flush();
}

}  // namespace flameprobe
