// Makes a long run's profile small again: samples of one thread with one stack that lie close in time become one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profile/sink.hpp"

namespace flameprobe {

/// Adds up samples by time slot, thread and stack, and counts of work by time slot and name; keeps the last summary;
/// passes everything else on. Sums are passed on when later slots have begun, the rest and the summary by finish().
/// Memory: about 40 bytes for each sum of two slots.
class Compactor final : public ProfileSink {
public:
    /// `slot_ns`: how far apart in time samples may be that become one; not 0.
    Compactor(ProfileSink& to, std::uint64_t slot_ns) : to_(to), slot_ns_(slot_ns) {}

    void run(const RunInfo& info) override { to_.run(info); }
    void string(std::uint32_t id, const std::string& text) override { to_.string(id, text); }
    void mapping(MappingId id, const Mapping& mapping) override { to_.mapping(id, mapping); }
    void location(LocationId id, const Location& location) override { to_.location(id, location); }
    void stack(StackId id, const StackNode& node) override { to_.stack(id, node); }
    void thread(ThreadId id, const Thread& thread) override { to_.thread(id, thread); }
    void sample(const Sample& sample) override { add(0, sample); }
    void event(EventId id, const EventInfo& info) override { to_.event(id, info); }
    void event_sample(EventId event, const Sample& sample) override { add(event, sample); }
    void summary(const Summary& summary) override { summary_ = summary; }
    void symbols(LocationId id, const std::vector<ArchivedSymbol>& symbols) override { to_.symbols(id, symbols); }
    void death(const Death& death) override { to_.death(death); }
    void count(const WorkCount& count) override;

    void finish();

private:
    struct Sum {
        std::uint64_t weight = 0, hits = 0;
        double aged = 0;  // weight times age
    };
    using Sums = std::unordered_map<std::uint64_t, Sum>;  // by thread << 32 | stack

    void add(EventId event, const Sample& sample);
    void pass_on_first_slot();

    ProfileSink& to_;
    const std::uint64_t slot_ns_;
    std::map<std::uint64_t, std::map<EventId, Sums>> slots_;
    struct CountSum {
        std::uint64_t amount = 0, last_ns = 0;
    };
    std::map<std::pair<std::uint64_t, std::string>, CountSum> counts_;  // by slot and name
    std::optional<Summary> summary_;
};

inline void Compactor::add(EventId event, const Sample& sample) {
    Sum& sum = slots_[sample.time_ns / slot_ns_][event][std::uint64_t{sample.thread} << 32 | sample.stack];
    sum.weight = add_saturated(sum.weight, sample.weight);
    sum.hits = add_saturated(sum.hits, sample.hits);
    sum.aged += static_cast<double>(sample.weight) * static_cast<double>(sample.age_ns);
    // Samples of several CPUs are not quite in order of time, so a slot is passed on when two later ones have begun. A
    // sample that comes later still makes a sum of its own.
    if (slots_.size() > 2) pass_on_first_slot();
}

inline void Compactor::pass_on_first_slot() {
    const auto& [time, of_slot] = *slots_.begin();
    for (const auto& [event, of_event] : of_slot) {
        std::vector<std::pair<std::uint64_t, Sum>> sums(of_event.begin(), of_event.end());
        std::sort(sums.begin(), sums.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (const auto& [key, sum] : sums) {
            const double age = sum.weight == 0 ? 0 : sum.aged / static_cast<double>(sum.weight);
            const Sample together{time * slot_ns_ + slot_ns_ / 2,
                                  static_cast<ThreadId>(key >> 32),
                                  static_cast<StackId>(key),
                                  sum.weight,
                                  sum.hits,
                                  static_cast<std::uint64_t>(age)};
            event == 0 ? to_.sample(together) : to_.event_sample(event, together);
        }
    }
    slots_.erase(slots_.begin());
}

inline void Compactor::count(const WorkCount& count) {
    CountSum& sum = counts_[{count.time_ns / slot_ns_, count.name}];
    sum.amount = add_saturated(sum.amount, count.amount);
    sum.last_ns = std::max(sum.last_ns, count.time_ns);
}

inline void Compactor::finish() {
    while (!slots_.empty()) pass_on_first_slot();
    for (const auto& [key, sum] : counts_) to_.count({sum.last_ns, key.second, sum.amount});
    if (summary_) to_.summary(*summary_);
}

}  // namespace flameprobe
