// The records in a perf ring, for the one layout that our events ask for (perf_event_open(2), "MMAP layout").
#pragma once

#include <linux/perf_event.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "capture/record.hpp"

namespace flameprobe {

inline constexpr std::uint64_t sample_layout =
    PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_REGS_USER;

/// Which optional parts the samples have, and what a sample stands for.
struct RecordLayout {
    bool counts = false;       // PERF_SAMPLE_READ: the weight of a sample is what its event has counted so far
    bool counts_lost = false;  // and PERF_FORMAT_LOST
    bool kernel_chain = false;
    bool stack = false;
    std::uint32_t event = 0;   // 0: the source's own, else EventSample::event
    std::uint64_t weight = 1;  // of a sample without a count, and of one that was lost
};

/// What is added to the time in records, so that it is CLOCK_MONOTONIC of this process: monotonic_lead_ns().
inline constinit std::atomic<std::int64_t> clock_lead_ns{0};
/// How far CLOCK_MONOTONIC of this process is ahead of the machine's, which perf tells: that of a time namespace has an
/// offset (time_namespaces(7)). 0 in the first one, and where /proc does not tell it.
std::int64_t monotonic_lead_ns();

/// CLOCK_MONOTONIC of any record: every record carries it (sample_id_all). 0 if the record is too short to have one.
std::uint64_t record_time(std::span<const std::byte> record, std::uint32_t type);

/// `record` starts with its perf_event_header and is whole. Gives nothing for a kind that says nothing to us, the fork
/// of a process among them, and for a record that is shorter than its kind needs, which no kernel writes.
std::optional<Record> read_record(std::span<const std::byte> record, const RecordLayout& layout);

}  // namespace flameprobe
