// The records in a perf ring, for the one layout that our events ask for (perf_event_open(2), "MMAP layout").
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "capture/raw_sample.hpp"
#include "capture/thread_clock.hpp"

namespace flameprobe {

inline constexpr std::uint64_t sample_layout =
    PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_REGS_USER;

/// Which optional parts the samples have.
struct RecordLayout {
    bool kernel_chain = false;
    bool stack = false;
    std::uint64_t period_ns = 0;   // of a clock, whose samples carry what the event has counted (PERF_SAMPLE_READ)
    ThreadClock* clock = nullptr;  // of the thread whose ring it is
    std::uint64_t stands_for = 1;  // so many threads like this one, the others being sampled later than this one
    std::uint32_t event = 0;       // RawSample::event of each
    std::uint64_t weight = 1;      // of each sample, where the clock gives none
};

/// CLOCK_MONOTONIC of any record: every record carries it (sample_id_all). 0 if the record is too short to have one.
std::uint64_t record_time(std::span<const std::byte> record, std::uint32_t type);

/// The thread of the sampled process that a record says was born, or has ended; 0 if it says that of none.
std::uint32_t born_thread(std::span<const std::byte> record);
std::uint32_t ended_thread(std::span<const std::byte> record);
/// The thread that a record is a sample of; 0 if it is none.
std::uint32_t sampled_thread(std::span<const std::byte> record);

/// Hands one record to `sink`. `record` starts with its perf_event_header and is whole. Gives false for a record that
/// is shorter than its type needs, which no kernel writes.
bool dispatch_record(std::span<const std::byte> record, const RecordLayout& layout, EventSink& sink);

}  // namespace flameprobe
