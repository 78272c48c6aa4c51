// The default engine: perf rings. No signal, nothing in the host's threads but the kernel's timer interrupt.
//
// One inherited event per CPU on the main thread covers every thread born later, however it was born (inherit_thread,
// Linux 5.13). Threads that already run get events of their own, which write into the same rings. The descriptors live
// in the collector's own table, so the host can neither see, run out of, nor close them.
#include <poll.h>
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
#include "base/host_process.hpp"
#include "base/proc.hpp"
#include "capture/cpu_rings.hpp"
#include "capture/event_source.hpp"
#include "capture/perf_event.hpp"
#include "capture/record.hpp"

namespace flameprobe {
namespace {

std::uint64_t random_between(std::uint64_t least, std::uint64_t most, std::uint64_t seed) {  // splitmix64
    seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9;
    seed = (seed ^ (seed >> 27)) * 0x94d049bb133111eb;
    return least + (seed ^ (seed >> 31)) % (most - least + 1);
}

class RingSource final : public EventSource {
public:
    static Result<std::unique_ptr<EventSource>> open(const CaptureOptions& options);

    Result<void> start() override;
    void stop() override;
    void drain(EventSink& sink) override;
    bool has_samples() const override;
    const CaptureFacts& facts() const override { return facts_; }
    bool over() override;
    void look_around() override;
    void vary_first_samples() override;
    void add_page_faults() override;
    void stop_page_faults() override { facts_.buffer_bytes -= rings_.drop_page_faults(); }
    void stop_switches() override;

private:
    Result<void> open_main(const CaptureOptions& options);
    void open_switches(std::uint32_t tid);
    void open_more_events(const CaptureOptions& options, std::uint32_t tid);
    enum class Attached {
        yes,
        no,  // it has ended, or no CPU takes it
        no_descriptor,
    };
    Attached attach(std::uint32_t tid, std::size_t first_ring);
    Result<void> add_cpu(int cpu);
    void draw_period();
    bool is_second(CpuRing& ring, std::span<const std::byte> record);
    void hand_on(const CpuRing& ring, std::span<const std::byte> record, EventSink& sink);
    bool control(unsigned long request);
    void describe(const CaptureOptions& options);

    perf_event_attr attributes_{};
    perf_event_attr switch_attributes_{};
    RecordLayout layout_;
    struct MoreEvent {
        perf_event_attr attributes;
        RecordLayout layout;
    };
    std::vector<MoreEvent> more_events_;  // by RawSample::event - 1
    CpuRings rings_;
    std::vector<Descriptor> others_;          // of threads that ran before us
    std::vector<Descriptor> other_switches_;  // theirs
    Descriptor own_;                          // see keep_apart()
    std::uint32_t apart_ = 0;                 // the main thread, once it has a ring of its own
    bool asked_to_vary_ = false;
    CaptureFacts facts_;
    std::string refusal_;           // of the last of CaptureFacts::refused_events
    std::size_t refused_told_ = 0;  // of them, in the note
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
        attributes_.sample_type |= PERF_SAMPLE_PERIOD;
        layout_.period_ns = attributes_.sample_period;
    }

    const auto main_thread = static_cast<std::uint32_t>(::getpid());
    if (auto opened = rings_.open(options, attributes_, main_thread); !opened) return opened;
    if (options.switches) open_switches(main_thread);
    layout_.kernel_chain = (attributes_.sample_type & PERF_SAMPLE_CALLCHAIN) != 0;
    layout_.stack = (attributes_.sample_type & PERF_SAMPLE_STACK_USER) != 0;
    open_more_events(options, main_thread);
    attach_running_threads([this](std::uint32_t tid) {
        ++facts_.earlier_threads;
        const auto attached = facts_.unattached_threads == 0 ? attach(tid, 0) : Attached::no_descriptor;
        if (attached == Attached::no_descriptor) ++facts_.unattached_threads;
        return attached == Attached::yes;
    });
    own_ = keep_apart(main_thread);
    describe(options);
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
        layout.kernel_chain = (attributes->sample_type & PERF_SAMPLE_CALLCHAIN) != 0;
        if (attributes->freq == 0) layout.weight = attributes->sample_period;
        more_events_.push_back({*attributes, layout});
        facts_.more_events.push_back({name, kind_of(*attributes)});
    }
}

/// An event of another thread that writes into `ring`. An Error leaves its reason in errno.
Result<Descriptor> open_beside(const perf_event_attr& attributes, std::uint32_t tid, const CpuRing& ring) {
    auto event = open_alike(attributes, tid, ring.cpu);
    if (event && ::ioctl(event->get(), PERF_EVENT_IOC_SET_OUTPUT, ring.event.get()) != 0)
        return Error{"its records cannot go into another's ring"};
    return event;
}

/// A thread that ran before gets events of its own, in the rings from `first_ring` on.
RingSource::Attached RingSource::attach(std::uint32_t tid, std::size_t first_ring) {
    std::vector<Descriptor> events, switches;
    for (std::size_t i = first_ring; i < rings_.size(); ++i) {
        const CpuRing& ring = rings_[i];
        auto event = open_beside(ring.is_own() ? attributes_ : more_events_[ring.number - 1].attributes, tid, ring);
        if (!event && errno == ESRCH) break;  // it has ended
        if (event ? !leaves_descriptors(*event) : errno == EMFILE) return Attached::no_descriptor;
        if (!event) {  // the other CPUs may take it
            ++facts_.refused_events;
            refusal_ = event.error().message;
            continue;
        }
        events.push_back(std::move(*event));
        if (!ring.switches) continue;
        auto beside = open_beside(switch_attributes_, tid, ring);
        if (beside ? !leaves_descriptors(*beside) : errno == EMFILE) return Attached::no_descriptor;
        if (beside) switches.push_back(std::move(*beside));
    }
    if (events.empty()) return Attached::no;
    std::move(events.begin(), events.end(), std::back_inserter(others_));
    std::move(switches.begin(), switches.end(), std::back_inserter(other_switches_));
    return Attached::yes;
}

// CPUs that had no events: they were added to the machine, or no thread might run there. One that goes offline and
// comes back has its events still, since the kernel takes away only those that are not of a thread
// (perf_event_exit_cpu).
void RingSource::look_around() {
    for (const int cpu : rings_.missing_cpus()) {
        if (std::find(refused_cpus_.begin(), refused_cpus_.end(), cpu) != refused_cpus_.end()) continue;
        if (const auto added = add_cpu(cpu); !added && errno != ENODEV) {
            refused_cpus_.push_back(cpu);
            facts_.note = "what runs on CPU " + std::to_string(cpu) + " is not sampled: " + added.error().message;
        }
    }
    facts_.buffer_bytes = rings_.all_bytes();
    if (facts_.refused_events > refused_told_) facts_.note = describe_refused(facts_.refused_events, refusal_);
    refused_told_ = facts_.refused_events;
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
    const std::size_t others = others_.size(), other_switches = other_switches_.size();
    attach_running_threads([&](std::uint32_t tid) {
        const auto attached = attach(tid, first);
        if (attached == Attached::no_descriptor) {
            ++facts_.refused_events;
            refusal_ = explain_refusal(EMFILE);
        }
        return attached == Attached::yes;
    });
    for (std::size_t i = others; i < others_.size(); ++i) ::ioctl(others_[i].get(), PERF_EVENT_IOC_ENABLE, 0);
    for (std::size_t i = other_switches; i < other_switches_.size(); ++i)
        ::ioctl(other_switches_[i].get(), PERF_EVENT_IOC_ENABLE, 0);
    return {};
}

void RingSource::describe(const CaptureOptions& options) {
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
    refused_told_ = facts_.refused_events;
    if (facts_.unattached_threads != 0) {
        facts_.note = describe_unattached(facts_.unattached_threads);
    } else if (facts_.refused_events != 0) {
        facts_.note = describe_refused(facts_.refused_events, refusal_);
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
    std::uint64_t period = random_between(usual / 2, usual + usual / 2, monotonic_ns());
    for (const auto& ring : rings_) {
        if (ring.cpu >= 0 && ring.is_own()) ::ioctl(ring.event.get(), PERF_EVENT_IOC_PERIOD, &period);
    }
}

// Rings of their own, small and without the other records: what is lost or throttled there is no CPU time. Threads that
// ran before go without.
void RingSource::add_page_faults() {
    constexpr std::uint64_t enough = 99;  // a second: they say where the time is, not how much
    if (layout_.period_ns == 0) return;
    perf_event_attr attr = page_fault_attributes(attributes_, std::min(facts_.frequency, enough));
    const std::size_t bytes = 2 * CpuRings::least_bytes(attr);
    if (rings_.add_event(attr, static_cast<std::uint32_t>(host_process()), 0, bytes))
        facts_.buffer_bytes = rings_.all_bytes();
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
    for (const auto* attached : {&other_switches_, &others_})
        for (const auto& other : *attached) ::ioctl(other.get(), request, 0);
    return done;
}

// An event that is disabled stays so in the threads that inherited it.
void RingSource::stop_switches() {
    for (auto& ring : rings_) {
        if (ring.switches) ::ioctl(ring.switches.get(), PERF_EVENT_IOC_DISABLE, 0);
        ring.switches.reset();
    }
    for (const auto& other : other_switches_) ::ioctl(other.get(), PERF_EVENT_IOC_DISABLE, 0);
    other_switches_.clear();
    facts_.switches = false;
}

// perf_event_open(2): an event hangs up when what it was opened for, and all that inherited it, has ended.
bool RingSource::over() {
    const auto goes_on = [](const Descriptor& event) {
        pollfd watched{event.get(), 0, 0};
        return ::poll(&watched, 1, 0) <= 0 || (watched.revents & POLLHUP) == 0;
    };
    return std::none_of(rings_.begin(), rings_.end(), [&](const CpuRing& ring) { return goes_on(ring.event); }) &&
           std::none_of(others_.begin(), others_.end(), goes_on);
}

bool RingSource::has_samples() const {
    return std::any_of(rings_.begin(), rings_.end(), [](const CpuRing& cpu) {
        return !cpu.of_page_faults && cpu.ring.holds([](std::uint32_t type) {
            return type == PERF_RECORD_SAMPLE || type == PERF_RECORD_LOST || type == PERF_RECORD_LOST_SAMPLES;
        });
    });
}

// A thread that was born while others got their events may have two on a CPU: its creator's, which it inherited, and
// its own. From outside it looks like one that has inherited none. The event that was opened last counts: on the CPUs
// that have it, it samples the thread at any time, and what is inherited may have been opened on some CPUs only.
bool RingSource::is_second(CpuRing& ring, std::span<const std::byte> record) {
    if (others_.empty()) return false;
    if (const std::uint32_t tid = born_or_ended(record); tid != 0)
        for (auto& each : rings_) each.newest_events.erase(tid);
    const std::uint32_t tid = sampled_thread(record);
    if (tid == 0) return false;
    const std::uint64_t event = sampling_event(record);
    std::uint64_t& newest = ring.newest_events[tid];
    newest = std::max(newest, event);
    return event < newest;
}

void RingSource::drain(EventSink& sink) {
    rings_.begin_round();
    while (CpuRing* const next = rings_.oldest()) {
        const auto record = next->ring.peek();
        if (!is_second(*next, record)) hand_on(*next, record, sink);
        rings_.consume(*next);
    }
    if (apart_ != 0) draw_period();
}

void RingSource::hand_on(const CpuRing& ring, std::span<const std::byte> record, EventSink& sink) {
    if (ring.of_page_faults) {
        RecordLayout fault_layout = layout_;
        fault_layout.page_faults = true;
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
