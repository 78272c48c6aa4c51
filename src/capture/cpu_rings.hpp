#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "capture/event_source.hpp"
#include "capture/perf_event.hpp"
#include "capture/ring_buffer.hpp"

namespace flameprobe {

struct CpuRing {
    int cpu;  // -1: of one thread alone, on all
    Descriptor event;
    RingBuffer ring;
    Descriptor switches;  // none unless asked for
    bool of_page_faults = false;
};

/// An event and a ring for each CPU on which the host may run, read as one. The collector only.
class CpuRings {
public:
    /// Of a thread, and of those that inherit from it. Where the kernel permits no ring of wanted_bytes(), smaller
    /// ones.
    Result<void> open(const CaptureOptions& options, perf_event_attr& attributes, std::uint32_t tid);
    /// One more, as large as the others. False, and nothing done, if there can be none.
    bool add(perf_event_attr& attributes, std::uint32_t tid, int cpu);
    /// For each CPU a small ring of the thread's page faults and of those that inherit from it: gives the bytes of all,
    /// 0 if there can be none.
    std::size_t add_page_faults(perf_event_attr& attributes, std::uint32_t tid);
    /// Between rounds. Gives the bytes that were in them.
    std::size_t drop_page_faults();
    std::size_t wanted_bytes() const { return wanted_bytes_; }
    /// Of data, of one ring.
    std::size_t bytes() const { return rings_.front().ring.data_bytes(); }

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
    std::size_t least_bytes(const perf_event_attr& attributes) const;

    std::vector<CpuRing> rings_;
    std::size_t wanted_bytes_ = 0;
    std::vector<std::uint64_t> next_time_;  // of each ring's next record
};

}  // namespace flameprobe
