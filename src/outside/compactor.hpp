// Makes a long run's profile small again: samples of one thread with one stack that lie close in time become one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "outside/reader.hpp"
#include "profile/durations.hpp"

namespace flameprobe {

/// Adds up samples by time slot, thread and stack, and counts of work and durations of requests by time slot and name;
/// drops single passings of requests, whose samples have no times any more; keeps the last summary; passes everything
/// else on. Sums are passed on when later slots have begun, the rest and the summary by finish(). The
/// last sample has the time of the last one that came: who appends to the profile writes times as differences to it.
/// Memory: about 40 bytes for each sum of two slots.
class Compactor final : public PartialSink {
public:
    /// `slot_ns`: how far apart in time samples may be that become one; not 0.
    Compactor(ProfileSink& to, std::uint64_t slot_ns) : PartialSink(&to), to_(to), slot_ns_(slot_ns) {}

    void sample(const Sample& sample) override { add(0, sample); }
    void event_sample(EventId event, const Sample& sample) override { add(event, sample); }
    void summary(const Summary& summary) override { summary_ = summary; }
    void host(const HostRecord& record) override;

    void finish();

private:
    struct Sum : Amount {
        double aged = 0;  // weight times age
    };
    using Sums = std::unordered_map<std::uint64_t, Sum>;  // by thread << 32 | stack

    /// Of the run's own event, or of all others: their times are written as differences each.
    struct Last {
        std::uint64_t time_ns = 0;
        std::optional<std::pair<EventId, Sample>> held;  // to be passed on when there is a later one
    };

    void add(EventId event, const Sample& sample);
    void add(const Death& death) { PartialSink::host(death); }
    void add(const WorkCount& count);
    void add(const RequestTimes& times);
    void add(const Passing& /*passing*/) {}
    void pass_on_first_slot();
    void pass_on(Last& last);

    ProfileSink& to_;
    const std::uint64_t slot_ns_;
    std::map<std::uint64_t, std::map<EventId, Sums>> slots_;
    struct CountSum {
        std::uint64_t amount = 0, last_ns = 0;
    };
    std::map<std::pair<std::uint64_t, std::string>, CountSum> counts_;  // by slot and name
    struct RequestSum {
        Durations durations;
        std::uint64_t last_ns = 0;
    };
    std::map<std::pair<std::uint64_t, std::string>, RequestSum> requests_;  // by slot and label
    std::optional<Summary> summary_;
    Last last_own_, last_other_;
};

/// Writes the profile at `path` into `file`, which is empty and open for writing: smaller, with the same ids. Samples
/// of one thread with one stack in the same 64th of the run become one. Takes about a second for 100 MiB.
Result<void> compact_profile(const std::string& path, Descriptor file);

}  // namespace flameprobe
