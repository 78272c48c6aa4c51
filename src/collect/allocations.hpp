// The host's allocations: samples of them as events of the profile, and exact totals.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/alloc/host_allocations.hpp"
#include "capture/cell_reader.hpp"
#include "collect/pipeline.hpp"
#include "profile/counters.hpp"
#include "profile/model.hpp"

namespace flameprobe {

/// Of allocations by mmap(2) that were sampled: where they lie, as far as they are alive. A part of one may be
/// unmapped, mapped over, or moved. Code that is mapped: unwind/code_map.hpp.
class MappedMemory {
public:
    /// Of the mapping with that id.
    struct Part {
        std::uint64_t id, bytes;
        bool operator==(const Part&) const = default;
    };

    /// All take whole pages. Each gives what is gone by it. What was mapped after `time_ns` stays: a thread may tell
    /// late that it has unmapped what was there before.
    std::vector<Part> mapped(std::uint64_t at, std::uint64_t bytes, std::uint64_t id, std::uint64_t time_ns) {
        auto gone = unmapped(at, bytes, time_ns);
        pieces_[at] = {at + bytes, id, time_ns};
        return gone;
    }
    std::vector<Part> unmapped(std::uint64_t at, std::uint64_t bytes, std::uint64_t time_ns) {
        std::vector<Part> gone;
        for (const auto& [start, piece] : cut(at, at + bytes, time_ns)) gone.push_back({piece.id, piece.end - start});
        return gone;
    }
    std::vector<Part> moved(std::uint64_t from, std::uint64_t bytes, std::uint64_t to, std::uint64_t time_ns) {
        const auto moving = cut(from, from + bytes, time_ns);
        auto gone = unmapped(to, bytes, time_ns);
        for (const auto& [start, piece] : moving)
            pieces_[start - from + to] = {piece.end - from + to, piece.id, time_ns};
        return gone;
    }

private:
    struct Piece {
        std::uint64_t end, id, since_ns;
    };
    /// The pieces that lie in that range, without what reaches beyond it.
    std::map<std::uint64_t, Piece> cut(std::uint64_t at, std::uint64_t end, std::uint64_t time_ns) {
        std::map<std::uint64_t, Piece> inside;
        auto next = pieces_.lower_bound(at);
        if (next != pieces_.begin() && std::prev(next)->second.end > at) --next;
        while (next != pieces_.end() && next->first < end) {
            const auto [start, piece] = *next;
            if (piece.since_ns > time_ns) {
                ++next;
                continue;
            }
            next = pieces_.erase(next);
            if (start < at) pieces_[start] = {at, piece.id, piece.since_ns};
            if (piece.end > end) pieces_[end] = piece;
            inside[std::max(start, at)] = {std::min(piece.end, end), piece.id, piece.since_ns};
        }
        return inside;
    }

    std::map<std::uint64_t, Piece> pieces_;  // by where they begin; no two overlap
};

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
    std::vector<std::string> unseen_;  // files whose calls are not
    std::uint64_t untracked_before_ = 0;
    bool running_ = false, any_ = false, busy_ = false, thinned_ = false;
};

}  // namespace flameprobe
