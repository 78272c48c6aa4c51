// The ladder's rungs: kernel rings, perf signals, CPU timers. Each gives the same raw samples.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "capture/raw_sample.hpp"

namespace flameprobe {

struct CaptureOptions {
    std::uint64_t frequency = 99;  // samples per second of a thread's CPU time
    std::uint32_t stack_bytes =
        16 * 1024;       // 0: no stack copy (frame pointers are walked by the unwinder from live memory)
    bool kernel = true;  // sample kernel code and record its callchain
    std::string event = "cpu-clock";
    std::vector<std::string> more_events = {};  // no clocks: sampled beside it, as often (RawSample::event)
    bool switches = false;                      // tell when each thread leaves its CPU and comes back
    std::size_t small_machine = 16;             // with more CPUs, those on which no thread may run get no events
};

/// The most that a perf record can hold beside the rest (perf_event_open(2): its size has 16 bits). Handlers copy more.
inline constexpr std::uint32_t most_ring_stack_bytes = 60 * 1024;

/// An event that is sampled beside the source's own.
struct OtherEvent {
    std::string name, kind;  // as CaptureFacts::event_kind
};

/// What the source really does, for the footer and `flameprobe doctor`.
struct CaptureFacts {
    std::string engine;  // ring, signal, timer
    std::string event;
    std::string event_kind;  // software clock, software event, hardware counter
    bool kernel = false;
    bool kernel_time = false;     // time in system calls is sampled, without the kernel's frames
    bool handlers = false;        // a signal handler of ours runs in the host's threads
    std::uint64_t frequency = 0;  // after the kernel's limits
    std::uint64_t period_ns = 0;
    std::uint64_t buffer_bytes = 0;
    std::uint64_t fill_ns = 0;            // in which a busy CPU's (or thread's) buffer fills: drain well before
    bool works_outside = false;           // it goes on where the collector is no thread of the host
    bool switches = false;                // EventSink::switched is told
    std::string no_switches;              // why not, where they were asked for
    std::vector<OtherEvent> more_events;  // of CaptureOptions::more_events those that are sampled
    std::string no_more_events;           // why not all
    std::size_t earlier_threads = 0;      // that ran before, beside the main thread; as far as the engine counts them
    std::size_t unattached_threads = 0;   // that ran before, and for which descriptors would not do
    std::size_t refused_events = 0;       // of threads that ran before: one for each thread and CPU
    bool signal_lost = false;             // the program took it away: `note` says what ended with that
    std::string note;                     // one sentence on anything that was lowered or refused, empty if nothing was
};

/// The names that CaptureOptions::event takes, with commas between them.
std::string event_names();
bool is_event_name(std::string_view name);

/// Lives in, and is used by, the collector thread only.
class EventSource {
public:
    virtual ~EventSource() = default;
    virtual Result<void> start() = 0;  // may be called again after stop()
    virtual void stop() = 0;           // no sample is taken after it returns; what was taken can still be drained
    virtual void drain(EventSink& sink) = 0;
    /// Whether drain() would give a sample, or tell of a lost one. An engine that cannot tell says true.
    virtual bool has_samples() const { return true; }
    virtual const CaptureFacts& facts() const = 0;
    /// Whether all that is sampled has ended, or has been replaced by exec: no sample follows.
    virtual bool over() { return false; }
    /// To be called now and then while sampling: what has changed in the machine, such as CPUs that were added.
    virtual void look_around() {}
    /// Threads live so briefly that the place of their first samples must vary. The engine does what it can.
    virtual void vary_first_samples() {}
    /// Samples of page faults too (RawSample::page_faults), if the engine can have them; before start().
    virtual void add_page_faults() {}
    /// From now on without them: each new thread pays for the events that it inherits.
    virtual void stop_page_faults() {}
    /// From now on without EventSink::switched, whose records cost the host more than they are worth.
    virtual void stop_switches() {}
    /// From now on without a signal handler, and facts().note says so with `why`. False: it needs one.
    virtual bool go_on_without_signals(const std::string& /*why*/) { return false; }
};

/// Per-CPU inherited perf events on the process's main thread, and events of their own for threads that already run.
Result<std::unique_ptr<EventSource>> open_ring_source(const CaptureOptions& options);
/// One POSIX CPU timer per thread; the handler copies into rings of ours.
Result<std::unique_ptr<EventSource>> open_timer_source(const CaptureOptions& options);
/// `ring`, which may not sample the kernel, with a CPU timer per thread for the time in system calls. Leaves it as it
/// is where there is no signal or memory for that.
Result<std::unique_ptr<EventSource>> add_kernel_time(std::unique_ptr<EventSource>& ring, const CaptureOptions& options);
/// perf overflow events deliver a signal; the handler copies into rings of ours.
Result<std::unique_ptr<EventSource>> open_signal_source(const CaptureOptions& options);

}  // namespace flameprobe
