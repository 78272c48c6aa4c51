// The default engine: perf rings. No signal, nothing in the host's threads but the kernel's timer interrupt.
//
// One inherited event per CPU on the main thread covers every thread born later, however it was born (inherit_thread,
// Linux 5.13). Threads that already run get events of their own, which write into the same rings. The descriptors live
// in the collector's own table, so the host can neither see, run out of, nor close them.
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/hash.hpp"
#include "base/host_process.hpp"
#include "base/proc.hpp"
#include "capture/attached_threads.hpp"
#include "capture/cpu_rings.hpp"
#include "capture/event_source.hpp"
#include "capture/perf_event.hpp"
#include "capture/record.hpp"

namespace flameprobe {
namespace {

class RingSource final : public EventSource {
public:
    static Result<std::unique_ptr<EventSource>> open(const CaptureOptions& options);

    Result<void> start() override;
    void stop() override;
    void drain(EventSink& sink) override;
    bool has_samples() const override;
    const CaptureFacts& facts() const override { return facts_; }
    bool ended() override;
    void add_new_cpus() override;
    void vary_first_samples() override;
    void add_page_faults() override;
    void stop_page_faults() override { facts_.buffer_bytes -= rings_.drop_page_faults(); }
    void stop_switches() override;

private:
    Result<void> open_main(const CaptureOptions& options);
    void open_switches(std::uint32_t tid);
    void open_more_events(const CaptureOptions& options, std::uint32_t tid);
    Result<void> add_cpu(int cpu);
    void draw_period();
    void hand_on(const CpuRing& ring, std::span<const std::byte> record, EventSink& sink);
    bool control(unsigned long request);
    void describe(const CaptureOptions& options, const std::string& refusal);

    perf_event_attr attributes_{};
    perf_event_attr switch_attributes_{};
    RecordLayout layout_;
    EventCounts counts_;
    struct MoreEvent {
        perf_event_attr attributes;
        RecordLayout layout;
    };
    std::vector<MoreEvent> more_events_;  // by RawSample::event - 1
    CpuRings rings_;
    AttachedThreads attached_;
    Descriptor own_;           // see keep_apart()
    std::uint32_t apart_ = 0;  // the main thread, once it has a ring of its own
    bool asked_to_vary_ = false;
    std::size_t page_fault_bytes_ = 0;  // wanted for each ring of page faults, until they are mapped
    CaptureFacts facts_;
    std::vector<int> refused_cpus_;
};

Result<std::unique_ptr<EventSource>> RingSource::open(const CaptureOptions& options) {
    auto source = std::make_unique<RingSource>();
    if (auto opened = source->open_main(options); !opened) return opened.error();
    return std::unique_ptr<EventSource>(std::move(source));
}

Result<void> RingSource::open_main(const CaptureOptions& options) {
    auto attributes = make_attributes(options);
    if (!attributes) return attributes.error();
    attributes_ = *attributes;
    if (is_clock(attributes_)) {
        attributes_.sample_type |= PERF_SAMPLE_PERIOD | (attributes_.exclude_kernel == 0 ? PERF_SAMPLE_READ : 0);
        layout_.period_ns = attributes_.sample_period;
    }

    const auto main_thread = static_cast<std::uint32_t>(host_process());
    if (auto opened = rings_.open(options, attributes_, main_thread); !opened) return opened;
    if (options.switches) open_switches(main_thread);
    layout_.kernel_chain = (attributes_.sample_type & PERF_SAMPLE_CALLCHAIN) != 0;
    layout_.stack = (attributes_.sample_type & PERF_SAMPLE_STACK_USER) != 0;
    if ((attributes_.sample_type & PERF_SAMPLE_READ) != 0) layout_.counts = &counts_;
    open_more_events(options, main_thread);
    const auto attached = attached_.attach({rings_.begin(), rings_.end()}, switch_attributes_);
    facts_.earlier_threads = attached.threads;
    facts_.unattached_threads = attached.without_descriptor;
    facts_.refused_events = attached.refused;
    own_ = keep_apart(main_thread);
    describe(options, attached.refusal);
    return {};
}

// Beside the samples, in the same rings and so in order of time with them.
void RingSource::open_switches(std::uint32_t tid) {
    switch_attributes_ = make_switch_attributes();
    switch_attributes_.wakeup_watermark = attributes_.wakeup_watermark;
    for (auto& ring : rings_) {
        auto event = open_event(switch_attributes_, tid, ring.cpu);
        if (!event || ::ioctl(event->get(), PERF_EVENT_IOC_SET_OUTPUT, ring.event.get()) != 0) {
            facts_.no_switches = event ? "perf's rings take no second event" : event.error().message;
            for (auto& other : rings_) other.switches.reset();
            return;
        }
        ring.switches = std::move(*event);
    }
    facts_.switches = true;
}

// In rings of their own: what is lost or throttled there is no CPU time.
void RingSource::open_more_events(const CaptureOptions& options, std::uint32_t tid) {
    for (const std::string& name : options.more_events) {
        auto attributes = make_more_attributes(attributes_, name, options.frequency);
        const auto number = static_cast<std::uint32_t>(more_events_.size() + 1);
        auto opened = attributes ? rings_.add_event(*attributes, tid, number, rings_.bytes()) : attributes.error();
        if (!opened) {
            facts_.no_more_events +=
                (facts_.no_more_events.empty() ? "" : "; ") + name + " is not sampled: " + opened.error().message;
            continue;
        }
        RecordLayout layout = layout_;
        layout.event = number;
        layout.period_ns = 0;
        layout.counts = nullptr;
        layout.kernel_chain = (attributes->sample_type & PERF_SAMPLE_CALLCHAIN) != 0;
        if (attributes->freq == 0) layout.weight = attributes->sample_period;
        more_events_.push_back({*attributes, layout});
        facts_.more_events.push_back({name, kind_of(*attributes)});
    }
}

// CPUs that had no events: they were added to the machine, or no thread might run there. One that goes offline and
// comes back has its events still, since the kernel takes away only those that are not of a thread
// (perf_event_exit_cpu).
void RingSource::add_new_cpus() {
    for (const int cpu : rings_.missing_cpus()) {
        if (std::find(refused_cpus_.begin(), refused_cpus_.end(), cpu) != refused_cpus_.end()) continue;
        if (const auto added = add_cpu(cpu); !added && errno != ENODEV) {
            refused_cpus_.push_back(cpu);
            facts_.note = "what runs on CPU " + std::to_string(cpu) + " is not sampled: " + added.error().message;
        }
    }
    facts_.buffer_bytes = rings_.all_bytes();
}

// Without page faults, which say where the time is and not how much.
Result<void> RingSource::add_cpu(int cpu) {
    const auto main_thread = static_cast<std::uint32_t>(host_process());
    const std::size_t first = rings_.size();
    if (auto added = rings_.add(attributes_, main_thread, cpu); !added) return added;
    if (facts_.switches) {
        auto switches = open_beside(switch_attributes_, main_thread, rings_[first]);
        if (switches && ::ioctl(switches->get(), PERF_EVENT_IOC_ENABLE, 0) == 0)
            rings_[first].switches = std::move(*switches);
    }
    for (std::size_t i = 0; i < more_events_.size(); ++i)
        static_cast<void>(rings_.add(more_events_[i].attributes, main_thread, cpu, static_cast<std::uint32_t>(i + 1)));
    const auto attached =
        attached_.attach({rings_.begin() + static_cast<std::ptrdiff_t>(first), rings_.end()}, switch_attributes_);
    attached_.control(PERF_EVENT_IOC_ENABLE);
    if (const std::size_t refused = attached.refused + attached.without_descriptor; refused != 0) {
        facts_.refused_events += refused;
        facts_.note =
            describe_refused(facts_.refused_events, attached.refused != 0 ? attached.refusal : explain_refusal(EMFILE));
    }
    return {};
}

void RingSource::describe(const CaptureOptions& options, const std::string& refusal) {
    facts_.engine = "ring";
    facts_.works_outside = true;
    facts_.event = options.event;
    facts_.event_kind = kind_of(attributes_);
    facts_.kernel = attributes_.exclude_kernel == 0;
    facts_.frequency = options.frequency;
    facts_.period_ns = is_clock(attributes_) ? attributes_.sample_period : 0;
    facts_.buffer_bytes = rings_.all_bytes();
    const std::uint64_t records = rings_.bytes() / (options.stack_bytes + 512);
    facts_.fill_ns = records * 1'000'000'000 / options.frequency;
    if (facts_.unattached_threads != 0) {
        facts_.note = describe_unattached(facts_.unattached_threads);
    } else if (facts_.refused_events != 0) {
        facts_.note = describe_refused(facts_.refused_events, refusal);
    } else if (options.kernel && !facts_.kernel) {
        const auto paranoid = read_sysctl("/proc/sys/kernel/perf_event_paranoid");
        facts_.note = "kernel code may not be sampled (kernel.perf_event_paranoid is " +
                      (paranoid ? std::to_string(*paranoid) : "unknown") + ", 1 or less is needed)";
    } else if (rings_.bytes() < rings_.wanted_bytes()) {
        facts_.note = "perf's buffers are smaller than wanted (raise kernel.perf_event_mlock_kb or `ulimit -l`)";
    }
}

// A thread's first sample comes after a whole period, so all that live so long are sampled at one place of their lives,
// and those of two periods often at their very end. The period that a thread is born with is that of the main thread's
// event at the time (PERF_EVENT_IOC_PERIOD), for all its life: it is drawn anew after each drain, and each sample says
// which it was. The main thread's own period would begin anew with each: it has an event and a ring of its own then.
void RingSource::vary_first_samples() {
    if (std::exchange(asked_to_vary_, true) || layout_.period_ns == 0) return;
    perf_event_attr attr = attributes_;
    attr.inherit = attr.inherit_thread = 0;
    attr.mmap = attr.mmap2 = attr.build_id = attr.comm = attr.task = 0;
    const auto main_thread = static_cast<std::uint32_t>(host_process());
    if (!rings_.add(attr, main_thread, -1)) return;
    apart_ = main_thread;
    draw_period();
}

void RingSource::draw_period() {
    const std::uint64_t usual = layout_.period_ns;
    std::uint64_t period = usual / 2 + splitmix64(monotonic_ns()) % (usual + 1);
    for (const auto& ring : rings_) {
        if (ring.cpu >= 0 && ring.is_own()) ::ioctl(ring.event.get(), PERF_EVENT_IOC_PERIOD, &period);
    }
}

// Rings of their own, small and without the other records: what is lost or throttled there is no CPU time. Threads that
// ran before go without. They get their memory with the first drain: a process of a millisecond need not pay for it.
void RingSource::add_page_faults() {
    constexpr std::uint64_t enough = 99;  // they say where the time is, not how much
    if (layout_.period_ns == 0) return;
    perf_event_attr attr = page_fault_attributes(attributes_, std::min(facts_.frequency, enough));
    if (!rings_.add_event(attr, static_cast<std::uint32_t>(host_process()), 0, 0)) return;
    page_fault_bytes_ = 2 * CpuRings::least_bytes(attr);
    const auto faults = std::count_if(rings_.begin(), rings_.end(), [](auto& ring) { return ring.of_page_faults; });
    facts_.buffer_bytes += static_cast<std::size_t>(faults) * page_fault_bytes_;
}

// Not PERF_EVENT_IOC_REFRESH: with cpu-clock it hangs Linux 6.16 and 6.17 (async-profiler#1578).
Result<void> RingSource::start() {
    return control(PERF_EVENT_IOC_ENABLE) ? Result<void>() : Error{"the perf event cannot be enabled"};
}

void RingSource::stop() { control(PERF_EVENT_IOC_DISABLE); }

/// False if a ring's own event refuses; the threads of the others may have ended.
bool RingSource::control(unsigned long request) {
    bool done = true;
    for (const auto& ring : rings_) {
        if (ring.switches) ::ioctl(ring.switches.get(), request, 0);
        done &= ::ioctl(ring.event.get(), request, 0) == 0;
    }
    attached_.control(request);
    return done;
}

// An event that is disabled stays so in the threads that inherited it.
void RingSource::stop_switches() {
    for (auto& ring : rings_) {
        if (ring.switches) ::ioctl(ring.switches.get(), PERF_EVENT_IOC_DISABLE, 0);
        ring.switches.reset();
    }
    attached_.stop_switches();
    facts_.switches = false;
}

bool RingSource::ended() {
    return attached_.ended() &&
           std::all_of(rings_.begin(), rings_.end(), [](const CpuRing& ring) { return has_hung_up(ring.event); });
}

bool RingSource::has_samples() const {
    return std::any_of(rings_.begin(), rings_.end(), [](const CpuRing& cpu) {
        return !cpu.of_page_faults && cpu.ring.holds([](std::uint32_t type) {
            return type == PERF_RECORD_SAMPLE || type == PERF_RECORD_LOST || type == PERF_RECORD_LOST_SAMPLES;
        });
    });
}

void RingSource::drain(EventSink& sink) {
    if (page_fault_bytes_ != 0) {
        rings_.map_page_faults(std::exchange(page_fault_bytes_, 0));
        facts_.buffer_bytes = rings_.all_bytes();
    }
    rings_.begin_round();
    while (CpuRing* const next = rings_.oldest()) {
        const auto record = next->ring.peek();
        if (!attached_.is_second(rings_, *next, record)) hand_on(*next, record, sink);
        rings_.consume(*next);
    }
    if (apart_ != 0) draw_period();
}

void RingSource::hand_on(const CpuRing& ring, std::span<const std::byte> record, EventSink& sink) {
    if (ring.of_page_faults) {
        RecordLayout fault_layout = layout_;
        fault_layout.period_ns = 0;
        fault_layout.counts = nullptr;
        fault_layout.page_faults = ring.attributes.sample_period;
        if (sampled_thread(record) != 0) dispatch_record(record, fault_layout, sink);
    } else if (ring.number != 0) {
        dispatch_record(record, more_events_[ring.number - 1].layout, sink);
    } else if (apart_ == 0 || ring.cpu < 0 || sampled_thread(record) != apart_) {
        dispatch_record(record, layout_, sink);
    }
}

}  // namespace

Result<std::unique_ptr<EventSource>> open_ring_source(const CaptureOptions& options) {
    return RingSource::open(options);
}

}  // namespace flameprobe
