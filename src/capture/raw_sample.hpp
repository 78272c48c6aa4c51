// What an event source hands on: bytes copied when the host was interrupted, not yet interpreted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/proc_maps.hpp"
#include "base/registers.hpp"

namespace flameprobe {

/// Views into the event source's buffer: valid until the callback that got it returns.
struct RawSample {
    std::uint64_t time_ns = 0;  // CLOCK_MONOTONIC
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    /// Nanoseconds of CPU time for which the sample stands; where the event is no clock, how many events.
    std::uint64_t weight = 1;
    bool in_kernel = false;       // the interrupt hit kernel code
    bool in_system_call = false;  // the time was spent in the system call that ends right before the pc
    std::uint32_t event = 0;      // not 0: no sample of time, but of CaptureFacts::more_events, counted from 1
    bool has_registers = false;   // false: no user side (a kernel thread, or registers not given)
    Registers registers;          // user side; in a system call as at its entry
    std::span<const std::uint64_t> kernel_chain;  // leaf first, pc of the leaf first
    std::span<const std::byte> stack;             // from registers.sp() up
};

/// Executable memory that was mapped, as the kernel's MMAP2 record tells it.
struct RawMapping {
    std::uint64_t time_ns = 0;
    std::uint64_t start = 0;
    std::uint64_t size = 0;
    std::uint64_t file_offset = 0;
    std::uint64_t device = 0;  // as st_dev, 0 where the kernel gave a build id instead
    std::uint64_t inode = 0;
    std::string_view path;
    std::string_view build_id;  // raw bytes, may be empty
};

/// `time_ns`: when it was made, or 0.
inline RawMapping raw_mapping(const MapsLine& line, std::uint64_t time_ns) {
    return {.time_ns = time_ns,
            .start = line.start,
            .size = line.end - line.start,
            .file_offset = line.offset,
            .device = line.device,
            .inode = line.inode,
            .path = line.path,
            .build_id = {}};
}

/// A thread left its CPU, or got one.
struct RawSwitch {
    std::uint64_t time_ns = 0;
    std::uint32_t tid = 0;
    bool out = false;
    bool preempted = false;  // if `out`: the thread was still runnable
};

/// Takes what an event source drained, in each buffer's order.
class EventSink {
public:
    virtual ~EventSink() = default;
    virtual void sample(const RawSample& sample) = 0;
    virtual void mapping(const RawMapping& mapping) = 0;
    virtual void thread_name(std::uint32_t tid, std::string_view name) = 0;
    /// `time_ns` is 0 where the engine does not know it.
    virtual void thread_started(std::uint32_t tid, std::uint32_t parent_tid, std::uint64_t time_ns) = 0;
    virtual void thread_ended(std::uint32_t tid, std::uint64_t time_ns) = 0;
    /// Samples were dropped because a buffer was full; `weight`: as theirs, 0 if later samples stand for them.
    virtual void lost(std::uint64_t weight) = 0;
    virtual void throttled(std::uint64_t time_ns) = 0;  // the kernel paused the event
    /// The same of another event (RawSample::event); `weight`: how many events the lost samples stood for.
    virtual void event_lost(std::uint32_t /*event*/, std::uint64_t /*weight*/) {}
    virtual void event_throttled(std::uint32_t /*event*/) {}
    /// Only where CaptureOptions::switches asked for it.
    virtual void switched(const RawSwitch& /*record*/) {}
    /// CPU time of a thread for which no sample can stand: the thread blocks the signal, has no timer, or runs
    /// `in_kernel` only.
    virtual void unsampled(std::uint32_t /*tid*/, std::uint64_t /*cpu_ns*/, bool /*in_kernel*/) {}
    /// The thread spent `cpu_ns` more in the system calls in which it was sampled last.
    virtual void more_in_system_calls(std::uint32_t /*tid*/, std::uint64_t /*cpu_ns*/) {}
    /// From timers that sample kernel time only: CPU time that the thread used since the last call, and what its hits
    /// in user code stand for.
    virtual void used(std::uint32_t /*tid*/, std::uint64_t /*cpu_ns*/, std::uint64_t /*user_ns*/) {}
    /// Whether, since the last call, the stack of a sample led to code outside of all mappings reported so far.
    virtual bool met_unknown_code() { return false; }
};

}  // namespace flameprobe
