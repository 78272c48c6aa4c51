// perf events that signal the thread they interrupt (sigtrap, Linux 5.13): no ring, no interrupt of another processor,
// any frequency. On request only, since debuggers use SIGTRAP themselves.
#include <linux/perf_event.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/host_process.hpp"
#include "capture/cell_reader.hpp"
#include "capture/event_source.hpp"
#include "capture/handler/handler.hpp"
#include "capture/handler_memory.hpp"
#include "capture/map_watch.hpp"
#include "capture/perf_event.hpp"
#include "capture/signal_choice.hpp"
#include "capture/thread_finder.hpp"
#include "capture/thread_rings.hpp"
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
        : memory_(std::move(memory)), slots_(memory_.state()), reader_(memory_.state()) {
        settings_.own = attributes;
        settings_.rate = clock_rate(attributes);
        describe(options);
    }
    ~SignalSource() override { memory_.state().sampling.store(false, std::memory_order_relaxed); }

    Result<void> open_events(const CaptureOptions& options);
    Result<void> start() override;
    void stop() override;
    void drain(RecordSink& sink) override;
    const CaptureFacts& facts() const override { return facts_; }
    void thread_begins(const NewThread& thread) override { threads_.begins(thread); }

private:
    void describe(const CaptureOptions& options);
    void note_missing();
    void weigh(TimeSample& sample);
    void keep_events();

    HandlerMemory memory_;
    ThreadTimers slots_;  // without timers: finds names and ends
    CellReader reader_;
    MapWatch maps_;
    SystemCallWatch calls_;
    ThreadEventSettings settings_;
    ThreadRings rings_;  // whose events have none
    ThreadFinder threads_{rings_, static_cast<std::uint32_t>(host_process())};
    CaptureFacts facts_;
    std::string own_note_;
};

void SignalSource::describe(const CaptureOptions& options) {
    facts_.engine = EngineKind::signal;
    facts_.event = options.event;
    facts_.event_kind = kind_of(settings_.own);
    facts_.kernel = false;
    facts_.handlers = true;
    facts_.frequency = options.frequency;
    facts_.period_ns = settings_.rate.period_ns;
    facts_.meets_threads = true;
    facts_.reaches = settings_.rate.one_shots && settings_.rate.period_ns != 0;
    facts_.fill_ns = std::uint64_t{memory_.state().pool.count()} * 1'000'000'000 / (cpu_count() * options.frequency);
    facts_.note = own_note_ =
        "samples that fall in the kernel are not taken: a signal pending at exec would kill the program";
}

Result<void> SignalSource::open_events(const CaptureOptions& options) {
    // Attributes that are not permitted go before all others are opened alike.
    if (const auto tried = open_event(settings_.own, thread_for_trials(), -1); !tried) return tried.error();
    const auto main_thread = static_cast<std::uint32_t>(host_process());
    if (auto opened = rings_.open_main(settings_, options.frequency, main_thread, false); !opened) return opened;
    threads_.find(true);
    note_missing();
    facts_.unattached_threads = threads_.without_event();
    return {};
}

void SignalSource::note_missing() {
    if (const std::string missing = threads_.take_refusal(); !missing.empty()) facts_.note = missing + "; " + own_note_;
}

Result<void> SignalSource::start() {
    auto& state = memory_.state();
    if (state.is_parents()) return Error{"the events are the parent's: a forked child must open its own"};
    if (const int error = handler::install(SIGTRAP); error != 0)
        return Error{"no handler for SIGTRAP can be installed"};
    calls_.look(state, monotonic_ns());
    state.sampling.store(true, std::memory_order_relaxed);
    slots_.start();
    threads_.find(true);
    return rings_.enable() ? Result<void>() : Error{"the perf event cannot be enabled"};
}

void SignalSource::stop() {
    rings_.disable(false);
    memory_.state().sampling.store(false, std::memory_order_relaxed);
    slots_.stop();
    HandlerMemory::wait_quiet();
}

void SignalSource::drain(RecordSink& sink) {
    auto& state = memory_.state();
    if (state.is_parents()) return;
    const std::uint64_t now = monotonic_ns();
    calls_.look(state, now);
    if (state.sampling.load(std::memory_order_relaxed) && !holds_signal(SIGTRAP)) {
        stop();
        facts_.note =
            "sampling ended when the program set a handler for SIGTRAP: FLAMEPROBE_ENGINE=ring needs no signal";
        facts_.signal_lost = true;
    }
    slots_.find_new(sink, now);
    rings_.begin_round();
    const std::size_t samples = reader_.gather();
    maps_.refresh(sink, now, samples != 0);
    slots_.read_names(reader_.threads(samples), sink, now);
    for (std::size_t i = 0; i < samples; ++i) {
        if (reader_.cell(i).has_registers) maps_.expect(reader_.cell(i).registers.pc(), sink, now);
    }
    for (std::size_t i = 0; i < samples; ++i) {
        TimeSample sample = reader_.sample(i);
        weigh(sample);
        sink.take(sample);
        reader_.give_back(i);
    }
    if (sink.met_unknown_code()) maps_.met_unknown_code();
    keep_events();
    // The last samples of threads that have ended are read in the next drain.
    SinkOf noting([&](const Record& record) {
        const auto* const end = std::get_if<ThreadEnded>(&record);
        if (ThreadEvents* const thread = end != nullptr ? rings_.find(end->tid) : nullptr) thread->leaving = true;
        sink.take(record);
    });
    slots_.finish_round(noting, maps_, now);
    facts_.buffer_bytes = memory_.bytes_in_use(reader_.most_cells(), slots_.slots().size());
    if (const auto dropped = state.dropped.exchange(0, std::memory_order_relaxed); dropped != 0)
        sink.take(SamplesLost{dropped});
}

// Its weight is the thread's CPU time as its handler read it; 0 where that was not permitted.
void SignalSource::weigh(TimeSample& sample) {
    const std::uint64_t cpu_ns = std::exchange(sample.weight, memory_.state().period_ns);
    ThreadEvents* const thread = rings_.find(sample.tid);
    if (settings_.rate.period_ns == 0 || thread == nullptr || cpu_ns == 0) return;
    sample.weight = thread->clock.weigh(cpu_ns - std::min(cpu_ns, thread->began_ns)) * thread->stands_for;
}

// Names, births and ends are told by the slots.
void SignalSource::keep_events() {
    for (const auto& thread : rings_)
        if (thread->leaving && !thread->ended) threads_.ended(*thread);
    threads_.find(false);
    static_cast<void>(threads_.take_found());
    static_cast<void>(threads_.take_gone());
    rings_.end_round();
    note_missing();
}

// What signals. The kernel is left out: a signal that is pending when exec has replaced the image finds the default
// action, which kills (at 4 kHz, 259 of 300 execs; none with exclude_kernel).
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
    if (auto opened = source->open_events(options); !opened) return opened.error();
    return std::unique_ptr<EventSource>(std::move(source));
}

}  // namespace flameprobe
