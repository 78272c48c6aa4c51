// The records in a perf ring, for the one layout that our events ask for (perf_event_open(2), "MMAP layout").
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "capture/event_counts.hpp"
#include "capture/raw_sample.hpp"

namespace flameprobe {

inline constexpr std::uint64_t sample_layout =
    PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_REGS_USER;

/// Which optional parts the samples have.
struct RecordLayout {
    bool kernel_chain = false;
    bool stack = false;
    std::uint64_t period_ns = 0;    // the usual period, where each sample carries its own; 0: samples carry none
    EventCounts* counts = nullptr;  // where each sample carries what its event has counted (PERF_SAMPLE_READ)
    std::uint64_t page_faults = 0;  // RawSample::page_faults of each
    std::uint32_t event = 0;        // RawSample::event of each
    std::uint64_t weight = 1;       // of each sample of another event
};

/// CLOCK_MONOTONIC of any record: every record carries it (sample_id_all). 0 if the record is too short to have one.
std::uint64_t record_time(std::span<const std::byte> record, std::uint32_t type);

/// The thread that was sampled; 0 if the record is not a sample.
std::uint32_t sampled_thread(std::span<const std::byte> record);

/// The event of a sample: the one that was opened, also where the thread has inherited it. A later one has a higher
/// number (kernel/events/core.c, perf_event_id).
std::uint64_t sampling_event(std::span<const std::byte> sample);

/// The thread that a record says was born or has ended; 0 if it says neither.
std::uint32_t born_or_ended(std::span<const std::byte> record);

/// Hands one record to `sink`. `record` starts with its perf_event_header and is whole. Gives false for a record that
/// is shorter than its type needs, which no kernel writes.
bool dispatch_record(std::span<const std::byte> record, const RecordLayout& layout, EventSink& sink);

}  // namespace flameprobe
