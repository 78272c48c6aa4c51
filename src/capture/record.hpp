// What an event source hands on: records, not yet interpreted, of what happened in the sampled process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "base/proc_maps.hpp"
#include "base/registers.hpp"

namespace flameprobe {

/// Bytes copied when a thread was interrupted. Views into the event source's buffer.
struct RawSample {
    std::uint64_t time_ns = 0;  // CLOCK_MONOTONIC
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    /// Nanoseconds of CPU time for which the sample stands; where the event is no clock, how many events.
    std::uint64_t weight = 1;
    std::uint64_t lost_records = 0;               // that its event wrote and a ring had no room for, so far
    bool has_registers = false;                   // false: no user side (a kernel thread, or registers not given)
    Registers registers;                          // user side; in a system call as at its entry
    std::span<const std::uint64_t> kernel_chain;  // leaf first, pc of the leaf first
    std::span<const std::byte> stack;             // from registers.sp() up
};

/// Of the source's own event.
struct TimeSample : RawSample {
    bool in_system_call = false;  // the time was spent in the system call that ends right before the pc
};

/// Of another event.
struct EventSample : RawSample {
    std::uint32_t event = 0;  // of CaptureFacts::more_events, counted from 1
};

/// Executable memory that was mapped, as the kernel's MMAP2 record tells it, or /proc/self/maps.
struct RawMapping {
    std::uint64_t start = 0;
    std::uint64_t size = 0;
    std::uint64_t file_offset = 0;
    std::uint64_t device = 0;  // as st_dev, 0 where the kernel gave a build id instead
    std::uint64_t inode = 0;
    std::string_view path;
    std::string_view build_id;  // raw bytes, may be empty
};

inline RawMapping raw_mapping(const MapsLine& line) {
    return {.start = line.start,
            .size = line.end - line.start,
            .file_offset = line.offset,
            .device = line.device,
            .inode = line.inode,
            .path = line.path,
            .build_id = {}};
}

/// `time_ns` is 0 where the engine does not know it.
struct ThreadStarted {
    std::uint32_t tid = 0, parent_tid = 0;
    std::uint64_t time_ns = 0;
};

struct ThreadNamed {
    std::uint32_t tid = 0;
    std::string_view name;
};

struct ThreadEnded {
    std::uint32_t tid = 0;
    std::uint64_t time_ns = 0;
};

/// A thread left its CPU, or got one. Only where CaptureOptions::switches asked for it.
struct ThreadSwitched {
    std::uint64_t time_ns = 0;
    std::uint32_t tid = 0;
    bool out = false;
    bool preempted = false;  // if `out`: the thread was still runnable
};

/// Records were dropped because a buffer was full; `weight`: as of so many samples, 0 if it is told later (as
/// TimeNotSampled).
struct SamplesLost {
    std::uint64_t weight = 0;
    std::uint32_t event = 0;  // 0: the source's own; else as EventSample::event
};

/// The kernel paused the event.
struct Throttled {
    std::uint32_t event = 0;  // as SamplesLost::event
};

/// CPU time of a thread for which no sample can stand: the thread blocks the signal, has no timer, runs `in_kernel`
/// only, or its samples found no room. Shown as `[lost]`, or `[kernel, not permitted]`; `[not sampled]` is what the
/// ledger finds missing at the end.
struct TimeNotSampled {
    std::uint32_t tid = 0;
    std::uint64_t cpu_ns = 0;
    bool in_kernel = false;
};

/// From timers that sample kernel time only: CPU time that the thread used since the last record of this kind, and what
/// the timer's hits in user code stand for.
struct TimeUsed {
    std::uint32_t tid = 0;
    std::uint64_t cpu_ns = 0, user_ns = 0;
};

/// Its views are valid until the function that takes it returns.
using Record = std::variant<TimeSample, EventSample, RawMapping, ThreadStarted, ThreadNamed, ThreadEnded,
                            ThreadSwitched, SamplesLost, Throttled, TimeNotSampled, TimeUsed>;

/// Takes the records that an event source drained, in each buffer's order.
class RecordSink {
public:
    virtual ~RecordSink() = default;
    virtual void take(const Record& record) = 0;
    /// Whether, since the last call, the stack of a sample led to code outside of all mappings reported so far.
    virtual bool met_unknown_code() { return false; }
};

template <class Take>
class SinkOf final : public RecordSink {
public:
    explicit SinkOf(Take take) : take_(std::move(take)) {}
    void take(const Record& record) override { take_(record); }

private:
    const Take take_;
};

/// A visitor for std::visit: one function for each kind of record that matters.
template <class... Functions>
struct Overloaded : Functions... {
    using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;  // clang has no such rule for aggregates before 17

}  // namespace flameprobe
