#include "capture/timer_source.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/proc.hpp"
#include "capture/handler/handler.hpp"
#include "capture/perf_event.hpp"
#include "capture/signal_choice.hpp"

namespace flameprobe {
namespace {

// A CPU runs one thread at a time, and each tick signals at most that one: room for half a second on every CPU.
std::uint32_t cells_needed(const CaptureOptions& options) {
    const std::uint64_t per_second = std::min(options.frequency, 1'000'000'000 / tick_ns());
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(cpu_count() * per_second / 2, 128, 4096));
}

// Of the user, in all processes (proc(5)); 0 without /proc.
std::uint64_t pending_signals() {
    return status_number(read_small_file("/proc/self/status").value_or(""), "SigQ").value_or(0);
}

}  // namespace

TimerSource::TimerSource(HandlerMemory memory, const CaptureOptions& options)
    : memory_(std::move(memory)), timers_(memory_.state()), reader_(memory_.state()) {
    describe(options);
}

TimerSource::~TimerSource() { memory_.state().sampling.store(false, std::memory_order_relaxed); }

void TimerSource::describe(const CaptureOptions& options) {
    const std::uint64_t most = 1'000'000'000 / tick_ns();
    facts_.engine = EngineKind::timer;
    facts_.event = "task-clock";
    facts_.event_kind = "software clock";
    facts_.kernel = false;
    facts_.kernel_time = facts_.handlers = true;
    facts_.frequency = options.frequency;
    facts_.period_ns = memory_.state().period_ns;
    constexpr std::size_t main_and_collector = 2;
    const std::size_t running = timers_.slots().tasks().count();  // 0 without /proc
    facts_.earlier_threads = running - std::min(running, main_and_collector);
    facts_.fill_ns =
        std::uint64_t{memory_.state().pool.count()} * 1'000'000'000 / (cpu_count() * std::min(options.frequency, most));
    if (options.event != "cpu-clock" && options.event != "task-clock") {
        facts_.note = "CPU timers cannot count " + options.event + ": CPU time is sampled instead; ";
    }
    if (options.frequency > most) {
        facts_.note += "CPU timers expire at most at the kernel's tick, " + std::to_string(most) +
                       " times a second: each sample stands for more time";
    } else {
        facts_.note += "CPU timers are noticed at the kernel's tick (" + std::to_string(most) +
                       " a second): work in step with it may be seen too often or too seldom";
    }
    own_note_ = facts_.note;
}

Result<void> TimerSource::start() {
    auto& state = memory_.state();
    if (state.is_parents()) return Error{"the timers are the parent's: a forked child must open its own"};
    const auto signal = take_signal(std::exchange(first_signal_, 0));
    if (!signal) return signal.error();
    state.signal = *signal;
    state.yielded.store(false, std::memory_order_relaxed);
    calls_.look(state, monotonic_ns());
    state.sampling.store(true, std::memory_order_relaxed);
    timers_.start();
    if (timers_.slots().with_timer() == 0 && timers_.slots().without_timer() != 0) {
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

// A host that takes our signal keeps it, and the timers get another one. Where our handler is still installed although
// the signal was yielded, the host set none after all, and the same signal may be taken again.
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
        facts_.signal_lost = true;
        return;
    }
    state.signal = *signal;
    state.yielded.store(false, std::memory_order_relaxed);
    timers_.start();
}

void TimerSource::drain(RecordSink& sink) {
    begin_round(sink);
    while (next_ != gathered_) take_next(sink);
    end_round(sink);
}

void TimerSource::begin_round(RecordSink& sink) {
    round_ns_ = monotonic_ns();
    next_ = gathered_ = 0;
    auto& state = memory_.state();
    if (state.is_parents()) return;
    calls_.look(state, round_ns_);
    keep_signal();
    timers_.find_new(sink, round_ns_);
    gathered_ = reader_.gather();
    if (!state.kernel_only) maps_.refresh(sink, round_ns_, gathered_ != 0);
    if (!state.kernel_only) timers_.read_names(reader_.threads(gathered_), sink, round_ns_);
    for (std::size_t i = 0; i < gathered_ && !state.kernel_only; ++i) {
        if (reader_.cell(i).has_registers) maps_.expect(reader_.cell(i).registers.pc(), sink, round_ns_);
    }
}

std::uint64_t TimerSource::next_time() const {
    return next_ == gathered_ ? ~std::uint64_t{0} : reader_.cell(next_).time_ns;
}

void TimerSource::take_next(RecordSink& sink) {
    auto sample = reader_.sample(next_);
    const bool takes_all = takes_all_of(reader_.cell(next_));
    if (!takes_all && reader_.cell(next_).in_system_call && !sample.in_system_call) {
        count_in_user_code(reader_.cell(next_));
        reader_.give_back(next_++);
        return;
    }
    sample.weight = timers_.account(reader_.cell(next_));
    if (sample.weight != 0) sink.take(sample);
    reader_.give_back(next_++);
}

bool TimerSource::takes_all_of(const handler::CellHead& cell) const {
    const auto& state = memory_.state();
    return !state.kernel_only ||
           (cell.slot < state.slot_count && state.slots[cell.slot].all.load(std::memory_order_relaxed));
}

// As the handler does where the registers show it that the thread was in user code.
void TimerSource::count_in_user_code(const handler::CellHead& cell) {
    auto& state = memory_.state();
    if (cell.slot >= state.slot_count || state.slots[cell.slot].generation != cell.generation) return;
    state.slots[cell.slot].user_ns.fetch_add(cell.weight, std::memory_order_relaxed);
}

void TimerSource::end_round(RecordSink& sink) {
    if (memory_.state().is_parents()) return;
    if (sink.met_unknown_code()) maps_.met_unknown_code();
    timers_.finish_round(sink, maps_, round_ns_);
    facts_.buffer_bytes = memory_.bytes_in_use(reader_.most_cells(), timers_.slots().size());
    note_unsampled_threads();
}

void TimerSource::note_unsampled_threads() {
    if (timers_.slots().without_timer() <= noted_missing_ && timers_.blocking() <= noted_blocking_) return;
    noted_missing_ = std::max(noted_missing_, timers_.slots().without_timer());
    noted_blocking_ = timers_.blocking();
    const auto threads = [](std::size_t count) {
        return std::to_string(count) + (count == 1 ? " thread" : " threads");
    };
    facts_.note.clear();
    if (noted_missing_ != 0)
        facts_.note += threads(noted_missing_) +
                       " could not be sampled for want of a timer: raise the limit of pending signals (ulimit -i), "
                       "half of which is left to the program; ";
    if (noted_blocking_ != 0)
        facts_.note += threads(noted_blocking_) + " could not be sampled while blocking the signal for it; ";
    facts_.note += own_note_;
}

Result<std::unique_ptr<TimerSource>> TimerSource::open(const CaptureOptions& options, std::uint64_t period_ns,
                                                       Samples samples) {
    constexpr std::uint32_t slots = 16384;
    auto memory = HandlerMemory::make({options.stack_bytes, cells_needed(options), slots});
    if (!memory) return memory.error();
    memory->state().period_ns = period_ns;
    memory->state().tick_ns = tick_ns();
    // The coarse clock is exact enough to order these samples among perf's: between the tick and the handler the thread
    // is in its system call, so perf has no sample of it.
    memory->state().others_pending = pending_signals();
    handler::read_timer_limit(memory->state());
    memory->state().kernel_only = samples == Samples::kernel_time;
    // Refused here rather than at start, so that another engine can be tried. preload/limits.cpp says why.
    rlimit real_time{};
    if (::getrlimit(RLIMIT_RTTIME, &real_time) == 0 && (real_time.rlim_cur == 0 || real_time.rlim_max == 0))
        return Error{"where RLIMIT_RTTIME is 0 the kernel ends a process that has CPU timers"};
    const auto signal = choose_signal();
    if (!signal) return signal.error();
    auto source = std::make_unique<TimerSource>(std::move(*memory), options);
    source->first_signal_ = *signal;
    return source;
}

Result<std::unique_ptr<EventSource>> open_timer_source(const CaptureOptions& options) {
    if (options.frequency == 0) return Error{"a frequency of 0 samples nothing"};
    auto source = TimerSource::open(options, uneven_period(ns_per_second / options.frequency, monotonic_ns()),
                                    TimerSource::Samples::all);
    if (!source) return source.error();
    return std::unique_ptr<EventSource>(std::move(*source));
}

}  // namespace flameprobe
