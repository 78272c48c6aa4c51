// The engines: kernel rings and CPU timers, each of which gives the same raw samples; and one without
// samples.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "capture/record.hpp"

namespace flameprobe {

struct CaptureOptions {
    std::uint64_t frequency = 99;           // samples per second of a thread's CPU time
    std::uint32_t stack_bytes = 16 * 1024;  // 0: no copy; frame pointers are followed in live memory
    bool kernel = true;                     // sample kernel code and record its callchain
    std::string event = "cpu-clock";
    std::vector<std::string> more_events = {};  // sampled beside `event` (EventSample); no clocks
    bool switches = false;                      // report when threads leave and get a CPU (ThreadSwitched)
    /// Events count from when they are opened, as far as the engine can, not from start(): to enable one interrupts the
    /// CPU that had the thread last. The process has one thread, which waits for start() or whose CPU time counts
    /// already.
    bool at_once = false;
};

/// The largest stack copy that fits into a perf record, whose size has 16 bits (perf_event_open(2)). The engines with a
/// handler can copy more.
inline constexpr std::uint32_t most_ring_stack_bytes = 60 * 1024;

/// An event that is sampled beside the source's own.
struct OtherEvent {
    std::string name, kind;  // as CaptureFacts::event_kind
};

enum class EngineKind : std::uint8_t { ring, timer, looks };
inline constexpr std::string_view engine_names[] = {"ring", "timer", "looks"};

/// What the source really does, for the footer and `flameprobe doctor`.
struct CaptureFacts {
    EngineKind engine = EngineKind::ring;
    std::string engine_name() const { return std::string(engine_names[static_cast<std::size_t>(engine)]); }
    /// Whether samples may come of all CPU time. With exclude_kernel the kernel drops every sample that hits a system
    /// call: on a server most of the time.
    bool has_all_time() const { return kernel || engine == EngineKind::timer || engine == EngineKind::looks; }
    std::string event;
    std::string event_kind;  // software clock, software event, hardware counter
    bool kernel = false;
    bool kernel_time = false;     // time in system calls is sampled, without the kernel's frames
    bool handlers = false;        // a signal handler of ours runs in the host's threads
    std::uint64_t frequency = 0;  // after the kernel's limits
    std::uint64_t period_ns = 0;
    std::uint64_t buffer_bytes = 0;       // memory of the buffers, as of the last drain
    std::uint64_t fill_ns = 0;            // time in which a busy CPU (or thread) fills its buffer: drain well before
    bool works_outside = false;           // the collector need not be a thread of the host
    bool meets_threads = false;           // EventSource::thread_begins() is to be called
    bool reaches = false;                 // and NewThreadShare::reach_us may be used
    bool switches = false;                // ThreadSwitched comes
    std::string no_switches;              // why not, where they were asked for
    std::vector<OtherEvent> more_events;  // of CaptureOptions::more_events those that are sampled
    std::string no_more_events;           // why not all
    std::size_t earlier_threads = 0;  // that ran before sampling, as far as they are counted; without the main thread
    std::size_t unattached_threads = 0;  // of these, not sampled: `note` says why
    bool signal_lost = false;            // the program took our signal: `note` says what ended with that
    std::string note;  // sentences, with "; " between, on what was lowered or refused; empty if nothing was
};

/// The names that CaptureOptions::event takes, with commas between them.
std::string event_names();
bool is_event_name(std::string_view name);

/// Which new threads get an event at birth. Another one gets it once it has used as much CPU time as the samples of
/// brief threads stand for: reach_us, or ThreadClock::lives_on_ns().
struct alignas(8) NewThreadShare {  // so that it can be read at once
    /// Only threads whose first sample, drawn at random in a period, comes within so many microseconds of CPU time;
    /// 0: all threads.
    std::uint32_t reach_us = 0;
    std::uint32_t stands_for = 1;  // of these one in so many, a power of two; its samples count so many times

    bool all() const { return reach_us == 0 && stands_for == 1; }
    std::uint64_t reach_ns() const { return reach_us * std::uint64_t{1000}; }
};

/// A thread that was born, and waits until its event is open.
struct NewThread {
    std::uint32_t tid = 0;
    NewThreadShare share{};
    std::string_view name{};  // that it has while it waits; empty: not known
};

/// Lives in, and is used by, the collector thread only.
class EventSource {
public:
    virtual ~EventSource() = default;
    virtual Result<void> start() = 0;  // may be called again after stop()
    virtual void stop() = 0;           // no sample is taken after it returns; what was taken can still be drained
    /// As stop(), where start() will not follow: samples may still be taken, but are not drained.
    virtual void stop_for_good() { stop(); }
    virtual void drain(RecordSink& sink) = 0;
    /// Whether drain() would give a sample, or tell of a lost one. An engine that cannot tell says true.
    virtual bool has_samples() const { return true; }
    virtual const CaptureFacts& facts() const = 0;
    /// Whether no sample can follow: every sampled thread has ended, or exec has replaced the program.
    virtual bool ended() { return false; }
    /// Only if facts().meets_threads.
    virtual void thread_begins(const NewThread& /*thread*/) {}
    /// Whether the thread has an event of its own: there may be more threads than the kernel permits rings.
    virtual bool samples(std::uint32_t /*tid*/) const { return true; }
    /// The collector is about to lose the right to open events of threads that are born later.
    virtual void rights_end() {}
    /// Ends the records ThreadSwitched, which cost the host more than they are worth.
    virtual void stop_switches() {}
    /// Gives up the signal handler and says so in facts().note, with `why`. False: the engine needs the handler.
    virtual bool go_on_without_signals(const std::string& /*why*/) { return false; }
};

/// One perf event with a ring for each thread.
Result<std::unique_ptr<EventSource>> open_ring_source(const CaptureOptions& options);
/// One POSIX CPU timer per thread; the handler copies into rings of ours.
Result<std::unique_ptr<EventSource>> open_timer_source(const CaptureOptions& options);
/// `ring`, which may not sample the kernel, with a CPU timer per thread for the time in system calls. An Error, and
/// `ring` is left as it is, where there is no signal or memory for the timers.
Result<std::unique_ptr<EventSource>> add_kernel_time(std::unique_ptr<EventSource>& ring, const CaptureOptions& options);
/// For a host that is watched from outside without perf: no samples, but what looks at its threads need.
Result<std::unique_ptr<EventSource>> open_look_source(const CaptureOptions& options, const std::string& why_no_events);

}  // namespace flameprobe
