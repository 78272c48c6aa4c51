// The engine for where perf_event_open is refused: a CPU timer per thread signals that thread, whose handler copies.
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "capture/cell_reader.hpp"
#include "capture/event_source.hpp"
#include "capture/handler_memory.hpp"
#include "capture/map_watch.hpp"
#include "capture/signal_choice.hpp"
#include "capture/system_call_watch.hpp"
#include "capture/thread_timers.hpp"

namespace flameprobe {
namespace {

// A CPU runs one thread at a time, and each tick signals at most that one: room for half a second on every CPU.
std::uint32_t cells_needed(const CaptureOptions& options) {
    const auto cpus = static_cast<std::uint64_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF)));
    const std::uint64_t per_second = std::min(options.frequency, 1'000'000'000 / tick_ns());
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(cpus * per_second / 2, 128, 4096));
}

// The memory was wiped by a fork.
bool is_parents(const handler::State& state) { return state.pid == 0; }

class TimerSource final : public EventSource {
public:
    TimerSource(HandlerMemory memory, const CaptureOptions& options)
        : memory_(std::move(memory)), timers_(memory_.state()), reader_(memory_.state()) {
        describe(options);
    }
    ~TimerSource() override { memory_.state().sampling.store(false, std::memory_order_relaxed); }

    Result<void> start() override;
    void stop() override;
    void drain(EventSink& sink) override;
    const CaptureFacts& facts() const override { return facts_; }

private:
    void describe(const CaptureOptions& options);
    void keep_signal();
    void tell_of_missing_timers();

    HandlerMemory memory_;
    ThreadTimers timers_;
    CellReader reader_;
    MapWatch maps_;
    SystemCallWatch calls_;
    CaptureFacts facts_;
    std::string own_note_;  // facts_.note as it was at first
    std::size_t told_missing_ = 0;
};

void TimerSource::describe(const CaptureOptions& options) {
    const std::uint64_t most = 1'000'000'000 / tick_ns();
    facts_.engine = "timer";
    facts_.event = "task-clock";
    facts_.event_kind = "software clock";
    facts_.kernel = false;
    facts_.frequency = options.frequency;
    facts_.period_ns = memory_.state().period_ns;
    facts_.buffer_bytes = memory_.bytes();
    const auto cpus = static_cast<std::uint64_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF)));
    facts_.fill_ns =
        std::uint64_t{memory_.state().pool.count()} * 1'000'000'000 / (cpus * std::min(options.frequency, most));
    if (options.event != "cpu-clock" && options.event != "task-clock") {
        facts_.note = "CPU timers cannot count " + options.event + ": CPU time is sampled instead; ";
    }
    if (options.frequency > most) {
        facts_.note += "CPU timers expire at most at the kernel's tick, " + std::to_string(most) +
                       " times a second: each sample stands for several periods";
    } else {
        facts_.note += "CPU timers are noticed at the kernel's tick (" + std::to_string(most) +
                       " a second): work in step with it may be seen too often or too seldom";
    }
    own_note_ = facts_.note;
}

Result<void> TimerSource::start() {
    auto& state = memory_.state();
    if (is_parents(state)) return Error{"the timers are the parent's: a forked child must open its own"};
    const auto signal = take_signal();
    if (!signal) return signal.error();
    state.signal = *signal;
    state.yielded.store(false, std::memory_order_relaxed);
    calls_.look(state, monotonic_ns());
    state.sampling.store(true, std::memory_order_relaxed);
    timers_.start();
    if (timers_.with_timer() == 0 && timers_.without_timer() != 0) {
        state.sampling.store(false, std::memory_order_relaxed);
        return Error{"the kernel gives no timer: raise the limit of pending signals (ulimit -i), which counts timers"};
    }
    return {};
}

void TimerSource::stop() {
    memory_.state().sampling.store(false, std::memory_order_relaxed);
    timers_.stop();
    HandlerMemory::wait_quiet();
}

// A host that takes our signal keeps it. Where the kernel still has our handler although it was yielded, the host
// thought better of it.
void TimerSource::keep_signal() {
    auto& state = memory_.state();
    if (!state.sampling.load(std::memory_order_relaxed) ||
        (holds_signal(state.signal) && !state.yielded.load(std::memory_order_relaxed))) {
        return;
    }
    timers_.stop();
    const auto signal = take_signal();
    if (!signal) {
        state.sampling.store(false, std::memory_order_relaxed);
        facts_.note = signal.error().message;
        return;
    }
    state.signal = *signal;
    state.yielded.store(false, std::memory_order_relaxed);
    timers_.start();
}

void TimerSource::drain(EventSink& sink) {
    const std::uint64_t now = monotonic_ns();
    auto& state = memory_.state();
    if (is_parents(state)) return;
    calls_.look(state, now);
    keep_signal();
    maps_.refresh(sink, now);
    timers_.find_new(sink, now);
    const std::size_t samples = reader_.gather();
    for (std::size_t i = 0; i < samples; ++i) {
        if (reader_.cell(i).has_registers) maps_.expect(reader_.cell(i).registers.pc(), sink, now);
    }
    for (std::size_t i = 0; i < samples; ++i) {
        auto sample = reader_.sample(i);
        sample.weight = timers_.account(reader_.cell(i));
        if (sample.weight != 0) sink.sample(sample);
        reader_.give_back(i);
    }
    timers_.finish_round(sink, maps_, now);
    tell_of_missing_timers();
}

void TimerSource::tell_of_missing_timers() {
    if (timers_.without_timer() <= told_missing_) return;
    told_missing_ = timers_.without_timer();
    facts_.note =
        std::to_string(told_missing_) +
        " threads could not be sampled for want of a timer: raise the limit of pending signals (ulimit -i); " +
        own_note_;
}

}  // namespace

Result<std::unique_ptr<EventSource>> open_timer_source(const CaptureOptions& options) {
    if (options.frequency == 0) return Error{"a frequency of 0 samples nothing"};
    constexpr std::uint32_t slots = 16384;
    auto memory = HandlerMemory::make({options.stack_bytes, cells_needed(options), slots});
    if (!memory) return memory.error();
    memory->state().period_ns = 1'000'000'000 / options.frequency;
    // Refused here rather than at start, so that another engine can be tried.
    if (const auto signal = choose_signal(); !signal) return signal.error();
    return std::unique_ptr<EventSource>(std::make_unique<TimerSource>(std::move(*memory), options));
}

}  // namespace flameprobe
