// A `.fprobe` in memory, before addresses have names: samples with the same stack and thread are added up while
// reading.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "profile/durations.hpp"
#include "profile/sink.hpp"
#include "symbolize/event_choice.hpp"
#include "symbolize/live_heap.hpp"
#include "symbolize/load.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// When samples were taken, in steps: at most 65,536 equal stretches of the run, so that the order of samples is known
/// where these are few. Adds up weights and hits by key and bin. Bins start at a millisecond; where there are too many
/// of them, or of entries, two neighbours become one. From a thousand bins on, which show when a program was busy,
/// there may be more entries.
class TimeBins {
public:
    struct Entry {
        std::uint64_t key = 0;
        std::uint32_t bin = 0;
        std::uint64_t weight = 0, hits = 0;
    };

    explicit TimeBins(std::size_t most_entries = 1'000'000, std::size_t most_in_order = 200'000)
        : most_entries_(most_entries), most_in_order_(std::min(most_entries, most_in_order)) {}

    void add(std::uint64_t key, std::uint64_t time_ns, std::uint64_t weight, std::uint64_t hits);
    /// What is added are differences, negative ones modulo 2^64. Else sums stop at the largest number.
    void hold_differences() { differences_ = true; }
    /// Makes bins at least that long, as those of what is added may be.
    void widen(std::uint64_t bin_ns);
    /// By key, then bin.
    const std::vector<Entry>& entries();
    std::uint64_t bin_ns() const { return bin_ns_; }

private:
    void halve();
    void merge();
    void shorten();
    std::uint64_t most_bins() const { return differences_ ? coarse_bins : fine_bins; }
    std::size_t most() const { return bins_ > coarse_bins ? most_in_order_ : most_entries_; }

    static constexpr std::uint64_t coarse_bins = 1000, fine_bins = 65'536, longest_bin = std::uint64_t{1} << 62;

    const std::size_t most_entries_, most_in_order_;
    std::uint64_t bins_ = 0;  // up to the last one that has an entry
    std::uint64_t bin_ns_ = 1'000'000;
    std::vector<Entry> entries_;
    std::size_t merged_ = 0;  // the first so many entries are sorted and distinct
    bool differences_ = false;
};

struct RawCount {
    ThreadId thread = 0;
    StackId stack = 0;
    std::uint64_t weight = 0;
    std::uint64_t hits = 0;
    Age age = {};
};

class RawProfile final : public ProfileSink {
public:
    /// `by_time`: samples in code made at run time that a dump names are kept apart, for split_by_time().
    explicit RawProfile(const SampleFilter& filter, bool by_time = false)
        : events(filter.event, filter.idle), filter_(filter), by_time_(by_time) {}

    void run(const RunInfo& info) override;
    void string(std::uint32_t id, const std::string& text) override;
    void mapping(MappingId id, const Mapping& mapping) override;
    void location(LocationId id, const Location& location) override;
    void stack(StackId id, const StackNode& node) override;
    void thread(ThreadId id, const Thread& thread) override;
    void sample(const Sample& sample) override;
    void summary(const Summary& summary) override;
    void symbols(LocationId id, const std::vector<ArchivedSymbol>& symbols) override;
    void host(const HostRecord& record) override {
        std::visit([this](const auto& of) { keep(of); }, record);
    }
    void event(EventId id, const EventInfo& info) override;
    void event_sample(EventId event, const Sample& sample) override;

    /// The counts that the filter keeps, sorted by thread, then stack.
    std::vector<RawCount> counts() const;
    /// Whether they have ages: they are what is alive at the end, and the profile says when that was allocated.
    bool has_ages() const { return events.is_heap() && !events.is_peak() && heap_.knows_ages(); }
    /// How much was alive in each stretch of the run, at most a thousand; empty if that is not what is read, or if the
    /// filter asks for no times, or for a part.
    std::vector<std::uint64_t> alive_over_time(std::uint64_t& stretch_ns) const;
    /// Whether what is on the leaf's side of this stack is the stack of a lock's holder (is_holder_note()).
    bool is_holders(StackId stack) const { return holders_[stack]; }
    /// Where the filter asks for requests: drops what was not sampled in them. Who a sample's request is tells the
    /// passing of its thread at its time. To be called when all is read.
    void choose_requests();
    /// Counts a sample that was kept apart.
    void add(std::uint64_t key, std::uint64_t time_ns, std::uint64_t weight, std::uint64_t hits);
    EventChoice events;

    struct TimedSample {
        std::uint64_t key = 0;  // thread << 32 | stack
        std::uint64_t time_ns = 0, weight = 0, hits = 0;
    };
    std::vector<TimedSample> apart;
    RequestDurations requests;  // that the filter keeps, by label

    std::optional<RunInfo> run_info;
    Summary last_summary;
    std::uint64_t last_sample_ns = 0;  // after the run's start, whether the filter keeps it or not
    /// By thread << 32 | stack; empty unless the filter asks for it. Of a heap: by how much what is alive changed.
    mutable TimeBins times;  // sorted when it is asked
    std::optional<Death> death_record;
    std::map<std::string, std::uint64_t> work;  // units that the filter keeps, by name
    std::vector<std::string> strings;
    std::vector<Mapping> mappings;
    std::vector<Location> locations;
    std::vector<StackNode> stacks = std::vector<StackNode>(1);  // [0] is the empty stack
    std::vector<Thread> threads;
    std::map<LocationId, std::vector<ArchivedSymbol>> archived;

private:
    std::vector<bool> stacks_in_scope() const;
    bool thread_wanted(const Thread& thread) const;
    bool in_window(std::uint64_t time_ns, std::uint64_t late_ns) const;

    void keep(const Death& death) { death_record = death; }
    void keep(const WorkCount& count);
    void keep(const RequestTimes& times);
    void keep(const Passing& passing);
    void keep(const Sample& sample, EventId event);
    void keep_timed(const TimedSample& sample);
    void keep_heap(EventId event, const Sample& sample);

    /// By thread << 32 | stack, sorted by it.
    std::vector<RawCount> all_counts() const;

    const SampleFilter& filter_;
    mutable LiveHeap heap_;  // sorted when it is asked
    const bool by_time_;
    bool has_jit_dump_ = false;
    std::vector<Passing> passings_;                              // of the requests that the filter asks for
    std::vector<TimedSample> in_requests_;                       // maybe
    std::vector<bool> in_run_time_code_ = std::vector<bool>(1);  // by stack
    std::vector<bool> holders_ = std::vector<bool>(1);           // by stack
    std::unordered_map<std::uint64_t, Amount> sums_;             // by thread << 32 | stack
};

/// Which of the profile's locations are in the stacks of the counts.
std::vector<bool> locations_of(const RawProfile& raw, const std::vector<RawCount>& counts);
/// The summary in the file is for the run's own event; for another event it is counted from the samples.
void count_event(const RawProfile& raw, const std::vector<RawCount>& counts, Summary& summary);

}  // namespace flameprobe
