// The host's allocations: samples of them as events of the profile, and exact totals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "capture/alloc/host_allocations.hpp"
#include "capture/cell_reader.hpp"
#include "collect/mapped_memory.hpp"
#include "collect/pipeline.hpp"
#include "profile/counters.hpp"
#include "profile/model.hpp"

namespace flameprobe {

/// What one sampled allocation stands for.
struct AllocationWeight {
    double bytes = 0, number = 0;
};
/// An allocation of `size` bytes is sampled with the probability 1 - exp(-size / mean).
AllocationWeight allocation_weight(std::uint64_t size, std::uint64_t mean);

/// The collector thread only.
class Allocations {
public:
    /// The profile's events, in this order from `first` on; all but the first two only if frees are tracked.
    static std::vector<EventInfo> events(const alloc::State& state);

    /// `pipeline` must outlive it.
    Allocations(Pipeline& pipeline, alloc::State& state, EventId first);

    /// What is alive of an earlier profile of this process was there as this one began. To be called after resume().
    void take_over(Allocations& before);

    /// Sampling begins or goes on; it pauses.
    void resume();
    void pause();
    /// Finds the samples, before the engine's records are read, and takes them, after it: so the records tell of all
    /// code that was mapped, and of each thread's name, before them.
    void gather();
    void drain();
    /// Exact totals, and what is not exact.
    void add_to(Counters& counters);
    bool has_samples() const { return any_; }
    /// Whether so many came that the next drain should be soon.
    bool is_busy() const { return busy_; }
    std::size_t memory() const;

private:
    struct Live {
        Sample bytes;
        std::uint64_t number = 0;
        std::uint64_t mapped = 0;  // of a mapping: bytes of it that are left
    };
    enum Kind : EventId { allocated, allocations, kept, kept_number, freed, frees };

    void take(const RawSample& raw, const handler::CellHead& cell);
    void take_free(std::uint64_t id, std::uint64_t freed_ns);
    void take_unmappings(std::uint64_t to_ns);
    void take_gone(const std::vector<MappedMemory::Part>& gone, std::uint64_t time_ns);
    void take_lost();
    void write(Kind kind, Sample sample, std::uint64_t weight);
    std::uint64_t rounded(double number);
    void count();

    Pipeline& pipeline_;
    alloc::State& state_;
    const EventId first_;
    CellReader cells_;
    alloc::ThreadStacks stacks_;
    SystemCallWatch calls_;
    std::uint64_t random_ = 0;
    std::unordered_map<std::uint64_t, Live> live_;           // by id
    std::vector<alloc::LiveTable::Freed> freed_, unmapped_;  // since the last drain
    MappedMemory mappings_;
    std::size_t gathered_ = 0;
    std::vector<alloc::Totals> lost_;  // by class of size: what is written already
    alloc::Totals sum_;
    std::uint64_t untracked_before_ = 0;
    bool running_ = false, any_ = false, busy_ = false, thinned_ = false;
};

}  // namespace flameprobe
