// perf events that signal the thread they interrupt (sigtrap, Linux 5.13): no ring, no interrupt of another processor,
// any frequency. On request only, since debuggers use SIGTRAP themselves.
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/clock.hpp"
#include "base/proc.hpp"
#include "capture/cell_reader.hpp"
#include "capture/event_source.hpp"
#include "capture/handler/handler.hpp"
#include "capture/handler_memory.hpp"
#include "capture/map_watch.hpp"
#include "capture/perf_event.hpp"
#include "capture/signal_choice.hpp"
#include "capture/system_call_watch.hpp"
#include "capture/thread_timers.hpp"

namespace flameprobe {
namespace {

// Room for a tenth of a second on every CPU.
std::uint32_t cells_needed(std::uint64_t frequency) {
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(cpu_count() * frequency / 10, 128, 4096));
}

class SignalSource final : public EventSource {
public:
    SignalSource(HandlerMemory memory, const CaptureOptions& options, perf_event_attr attributes)
        : memory_(std::move(memory)), threads_(memory_.state()), reader_(memory_.state()), attributes_(attributes) {
        describe(options);
    }
    ~SignalSource() override { memory_.state().sampling.store(false, std::memory_order_relaxed); }

    Result<void> open_events();
    Result<void> start() override;
    void stop() override;
    void drain(RecordSink& sink) override;
    const CaptureFacts& facts() const override { return facts_; }

private:
    void describe(const CaptureOptions& options);
    bool attach(std::uint32_t tid);
    void control(unsigned long request);

    HandlerMemory memory_;
    ThreadTimers threads_;  // without timers: finds threads, names and ends
    CellReader reader_;
    MapWatch maps_;
    SystemCallWatch calls_;
    perf_event_attr attributes_;
    std::vector<Descriptor> events_;
    CaptureFacts facts_;
    Descriptor apart_;  // see keep_apart()
};

void SignalSource::describe(const CaptureOptions& options) {
    facts_.engine = "signal";
    facts_.event = options.event;
    facts_.event_kind = kind_of(attributes_);
    facts_.kernel = false;
    facts_.handlers = true;
    facts_.frequency = options.frequency;
    facts_.period_ns = is_clock(attributes_) ? attributes_.sample_period : 0;
    facts_.fill_ns = std::uint64_t{memory_.state().pool.count()} * 1'000'000'000 / (cpu_count() * options.frequency);
    facts_.note = "samples that fall in the kernel are not taken: a signal pending at exec would kill the program";
}

// The threads born later inherit the events of their creators, for all CPUs.
Result<void> SignalSource::open_events() {
    auto event = open_event(attributes_, static_cast<std::uint32_t>(::getpid()), -1);
    if (!event) return event.error();
    events_.push_back(std::move(*event));
    apart_ = keep_apart(static_cast<std::uint32_t>(::getpid()));
    attach_running_threads([this](std::uint32_t tid) { return attach(tid); });
    if (facts_.unattached_threads != 0) facts_.note = describe_unattached(facts_.unattached_threads);
    return {};
}

/// False if the thread has ended, or there is no descriptor for it.
bool SignalSource::attach(std::uint32_t tid) {
    auto event = open_event(attributes_, tid, -1);
    if (event ? !leaves_descriptors(*event) : errno == EMFILE) ++facts_.unattached_threads;
    if (!event || facts_.unattached_threads != 0) return false;
    events_.push_back(std::move(*event));
    return true;
}

void SignalSource::control(unsigned long request) {
    for (const auto& event : events_) ::ioctl(event.get(), request, 0);
}

Result<void> SignalSource::start() {
    auto& state = memory_.state();
    if (state.pid == 0) return Error{"the events are the parent's: a forked child must open its own"};
    if (const int error = handler::install(SIGTRAP); error != 0)
        return Error{"no handler for SIGTRAP can be installed"};
    calls_.look(state, monotonic_ns());
    state.sampling.store(true, std::memory_order_relaxed);
    threads_.start();
    control(PERF_EVENT_IOC_ENABLE);
    return {};
}

void SignalSource::stop() {
    control(PERF_EVENT_IOC_DISABLE);
    memory_.state().sampling.store(false, std::memory_order_relaxed);
    threads_.stop();
    HandlerMemory::wait_quiet();
}

void SignalSource::drain(RecordSink& sink) {
    auto& state = memory_.state();
    if (state.pid == 0) return;
    const std::uint64_t now = monotonic_ns();
    calls_.look(state, now);
    if (state.sampling.load(std::memory_order_relaxed) && !holds_signal(SIGTRAP)) {
        stop();
        facts_.note =
            "sampling ended when the program set a handler for SIGTRAP: FLAMEPROBE_ENGINE=ring needs no signal";
        facts_.signal_lost = true;
    }
    maps_.refresh(sink, now);
    threads_.find_new(sink, now);
    const std::size_t samples = reader_.gather();
    threads_.read_names(reader_.threads(samples), sink, now);
    for (std::size_t i = 0; i < samples; ++i) {
        if (reader_.cell(i).has_registers) maps_.expect(reader_.cell(i).registers.pc(), sink, now);
    }
    for (std::size_t i = 0; i < samples; ++i) {
        sink.take(reader_.sample(i));
        reader_.give_back(i);
    }
    if (sink.met_unknown_code()) maps_.met_unknown_code();
    threads_.finish_round(sink, maps_, now);
    facts_.buffer_bytes = memory_.bytes_in_use(reader_.most_cells(), threads_.slots());
    if (const auto dropped = state.dropped.exchange(0, std::memory_order_relaxed); dropped != 0)
        sink.take(SamplesLost{dropped});
}

// What signals and is not inherited by child processes. The kernel is left out: a signal that is pending when exec has
// replaced the image finds the default action, which kills (at 4 kHz, 259 of 300 execs; none with exclude_kernel).
perf_event_attr signalling(perf_event_attr attributes) {
    attributes.sample_type = 0;
    attributes.sample_stack_user = 0;
    attributes.sample_regs_user = 0;
    attributes.exclude_callchain_user = 0;
    attributes.exclude_kernel = 1;
    attributes.mmap = attributes.mmap2 = attributes.build_id = attributes.comm = attributes.task = 0;
    attributes.sample_id_all = 0;
    attributes.use_clockid = 0;
    attributes.clockid = 0;
    attributes.watermark = 0;
    attributes.inherit = attributes.inherit_thread = 1;  // Linux 5.13: by threads, not by child processes
    attributes.sigtrap = 1;
    attributes.remove_on_exec = 1;
    attributes.sig_data = handler::Token{handler::secret(0), 0, handler::CellHead::no_slot}.pack();
    return attributes;
}

}  // namespace

Result<std::unique_ptr<EventSource>> open_signal_source(const CaptureOptions& asked) {
    CaptureOptions options = asked;
    options.frequency = permitted_frequency(options.frequency);
    if (!is_default_for_host(SIGTRAP) && !holds_signal(SIGTRAP)) {
        return Error{"the program has a handler for SIGTRAP itself: FLAMEPROBE_ENGINE=ring or timer does without"};
    }
    constexpr std::uint32_t slots = 16384;
    auto memory = HandlerMemory::make({options.stack_bytes, cells_needed(options.frequency), slots});
    if (!memory) return memory.error();
    const auto attributes = make_attributes(options);
    if (!attributes) return attributes.error();
    auto& state = memory->state();
    state.timers = false;
    state.signal = SIGTRAP;
    state.period_ns = is_clock(*attributes) ? attributes->sample_period : 1;
    state.clock_id = CLOCK_MONOTONIC_COARSE;  // no rdtsc, which a host may have made a fault (PR_SET_TSC)
    auto source = std::make_unique<SignalSource>(std::move(*memory), options, signalling(*attributes));
    if (auto opened = source->open_events(); !opened) return opened.error();
    return std::unique_ptr<EventSource>(std::move(source));
}

}  // namespace flameprobe
