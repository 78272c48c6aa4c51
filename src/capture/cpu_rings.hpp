#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "capture/event_source.hpp"
#include "capture/perf_event.hpp"
#include "capture/ring_buffer.hpp"

namespace flameprobe {

struct CpuRing {
    int cpu;  // -1: of one thread alone, on all
    perf_event_attr attributes;
    Descriptor event;
    RingBuffer ring;
    Descriptor switches;  // none unless asked for
    bool of_page_faults = false;
    std::uint32_t number = 0;                                          // RawSample::event
    std::unordered_map<std::uint32_t, std::uint64_t> newest_events{};  // by thread: of those that have sampled it here

    /// Of the event that the source was opened for.
    bool is_own() const { return number == 0 && !of_page_faults; }
};

/// An event of `tid` on the CPU of `ring` that writes into it. An Error leaves its reason in errno.
Result<Descriptor> open_beside(const perf_event_attr& attributes, std::uint32_t tid, const CpuRing& ring);

/// An event and a ring for each CPU on which the host may run, read as one. The collector only.
class CpuRings {
public:
    /// Of a thread, and of those that inherit from it. Where the kernel permits no ring of wanted_bytes(), smaller
    /// ones.
    Result<void> open(const CaptureOptions& options, perf_event_attr& attributes, std::uint32_t tid);
    /// CPUs on which the host may run and that have no such event, in order: those that were offline, that were added
    /// to the machine since, or that no thread might use (sched_setaffinity(2)).
    std::vector<int> missing_cpus() const;
    /// One more, as large as the others, enabled. An Error, and nothing done, if there can be none whose records are
    /// the same; ENODEV in errno for a CPU that is offline. `number`: see CpuRing.
    Result<void> add(const perf_event_attr& attributes, std::uint32_t tid, int cpu, std::uint32_t number = 0);
    /// For each CPU a ring of another event of the thread and of those that inherit from it, of `wanted_bytes` or as
    /// many as there can be; nothing is done if that is too few. `number`: see CpuRing; 0: of page faults.
    Result<void> add_event(perf_event_attr& attributes, std::uint32_t tid, std::uint32_t number,
                           std::size_t wanted_bytes);
    /// Of data, of all rings.
    std::size_t all_bytes() const;
    /// Of data, room for two samples.
    static std::size_t least_bytes(const perf_event_attr& attributes);
    /// Rings of page faults go, between rounds. Gives the bytes that were in them.
    std::size_t drop_page_faults();
    std::size_t wanted_bytes() const { return wanted_bytes_; }
    /// Of data, of one ring.
    std::size_t bytes() const { return rings_.front().ring.data_bytes(); }
    std::size_t size() const { return rings_.size(); }
    CpuRing& operator[](std::size_t index) { return rings_[index]; }

    auto begin() { return rings_.begin(); }
    auto end() { return rings_.end(); }
    auto begin() const { return rings_.begin(); }
    auto end() const { return rings_.end(); }

    /// What the kernel writes from now on waits for the next round.
    void begin_round();
    /// The ring whose record is the oldest, so that a mapping made on one CPU is known before a sample from another
    /// uses it; null when the round is over.
    CpuRing* oldest();
    /// That record has been read.
    void consume(CpuRing& oldest);

private:
    std::vector<CpuRing> rings_;
    std::size_t wanted_bytes_ = 0;
    std::size_t small_machine_ = 0;
    std::vector<std::uint64_t> next_time_;  // of each ring's next record
};

}  // namespace flameprobe
