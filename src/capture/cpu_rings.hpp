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
    int cpu;  // -1: the ring of one thread, for all CPUs
    perf_event_attr attributes;
    Descriptor event;
    RingBuffer ring;
    Descriptor switches;  // the event of CaptureOptions::switches, if there is one
    bool of_page_faults = false;
    std::uint32_t number = 0;                                          // RawSample::event
    std::unordered_map<std::uint32_t, std::uint64_t> newest_events{};  // by thread: of those that have sampled it here

    /// Whether its samples are of CaptureOptions::event.
    bool is_own() const { return number == 0 && !of_page_faults; }
};

/// An event of `tid` on the CPU of `ring` that writes into it. An Error leaves its reason in errno.
Result<Descriptor> open_beside(const perf_event_attr& attributes, std::uint32_t tid, const CpuRing& ring);

/// An event and a ring for each CPU on which the host may run, read as one. The collector only.
class CpuRings {
public:
    /// Opens events for thread `tid` and the threads that inherit from it. The rings are smaller than wanted_bytes()
    /// where the kernel permits no more.
    Result<void> open(const CaptureOptions& options, perf_event_attr& attributes, std::uint32_t tid);
    /// CPUs on which the host may run and that have no such event, in order: those that were offline, that were added
    /// to the machine since, or that no thread might use (sched_setaffinity(2)).
    std::vector<int> missing_cpus() const;
    /// Adds an enabled event on `cpu`, with a ring as large as the others. An Error, and nothing is changed, if the
    /// kernel permits no event with the same records; errno is ENODEV if the CPU is offline. `number`: see CpuRing.
    Result<void> add(const perf_event_attr& attributes, std::uint32_t tid, int cpu, std::uint32_t number = 0);
    /// Adds another event with a ring of its own on each CPU, for `tid` and the threads that inherit from it. The rings
    /// are of `wanted_bytes`, or smaller where the kernel permits no more; an Error, and nothing is changed, below
    /// least_bytes(). `number`: see CpuRing; 0: page faults, with 0 bytes until map_page_faults().
    Result<void> add_event(perf_event_attr& attributes, std::uint32_t tid, std::uint32_t number,
                           std::size_t wanted_bytes);
    /// Gives the rings of page faults their memory, not within a round. Where the kernel permits none they are removed.
    void map_page_faults(std::size_t wanted_bytes);
    /// Data bytes of all rings together.
    std::size_t all_bytes() const;
    /// The data bytes that a ring needs: room for two samples.
    static std::size_t least_bytes(const perf_event_attr& attributes);
    /// Removes the rings of page faults; not within a round. Gives the data bytes that they had.
    std::size_t drop_page_faults();
    std::size_t wanted_bytes() const { return wanted_bytes_; }
    /// Data bytes of the first ring.
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
    /// To be called when the record of oldest() has been read.
    void consume(CpuRing& oldest);

private:
    std::vector<CpuRing> rings_;
    std::size_t wanted_bytes_ = 0;
    std::size_t small_machine_ = 0;
    std::vector<std::uint64_t> next_time_;  // of each ring's next record
};

}  // namespace flameprobe
