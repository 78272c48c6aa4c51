// For where perf may not sample the kernel: perf's rings sample user code, and a CPU timer per thread samples system
// calls. Where the timer's signal interrupts the thread shows which of the two an expiry fell into.
#include <algorithm>
#include <utility>

#include "capture/event_source.hpp"
#include "capture/kernel_share.hpp"
#include "capture/perf_event.hpp"
#include "capture/timer_source.hpp"
#include "cpu/signal_frame.hpp"

namespace flameprobe {
namespace {

class RingAndTimerSource final : public EventSource {
public:
    RingAndTimerSource(std::unique_ptr<EventSource> ring, std::unique_ptr<TimerSource> timers);

    Result<void> start() override;
    void stop() override;
    void stop_for_good() override;
    void drain(RecordSink& sink) override;
    bool has_samples() const override { return ring_->has_samples() || (timers_ && timers_->has_samples()); }
    const CaptureFacts& facts() const override { return facts_; }
    bool go_on_without_signals(const std::string& why) override;
    void thread_begins(const NewThread& thread) override { ring_->thread_begins(thread); }
    void stop_switches() override {
        ring_->stop_switches();
        facts_.switches = false;
    }

private:
    void take_of_timers(const Record& record, RecordSink& out);
    void take_of_ring(const Record& record, RecordSink& out);
    void take_timers_until(std::uint64_t time_ns, RecordSink& out);

    std::unique_ptr<EventSource> ring_;
    std::unique_ptr<TimerSource> timers_;  // null once they are given up
    KernelShare share_;
    CaptureFacts facts_;
    std::string own_note_, timers_own_note_, timers_note_;  // as they were at the start
};

RingAndTimerSource::RingAndTimerSource(std::unique_ptr<EventSource> ring, std::unique_ptr<TimerSource> timers)
    : ring_(std::move(ring)),
      timers_(std::move(timers)),
      share_(ring_->facts().period_ns,
             std::max(1.0, static_cast<double>(tick_ns()) / static_cast<double>(ring_->facts().period_ns))),
      facts_(ring_->facts()),
      timers_own_note_(timers_->facts().note),
      timers_note_(timers_own_note_) {
    facts_.handlers = true;
    facts_.works_outside = false;  // only a thread of the host can make timers for its threads
    facts_.kernel_time = true;
    facts_.fill_ns = std::min(facts_.fill_ns, timers_->facts().fill_ns);
    facts_.note = own_note_ = ring_->facts().note + "; user time by perf rings, kernel time by CPU timers";
}

Result<void> RingAndTimerSource::start() {
    if (auto started = ring_->start(); !started) return started;
    if (!timers_) return {};
    if (auto started = timers_->start(); !started) go_on_without_signals(started.error().message);
    return {};
}

void RingAndTimerSource::stop() {
    ring_->stop();
    if (timers_) timers_->stop();
}

void RingAndTimerSource::stop_for_good() {
    ring_->stop_for_good();
    if (timers_) timers_->stop();
}

bool RingAndTimerSource::go_on_without_signals(const std::string& why) {
    if (!timers_) return true;
    timers_.reset();
    facts_.note = ring_->facts().note + "; time in the kernel has no stack: " + why;
    return true;
}

void RingAndTimerSource::drain(RecordSink& sink) {
    if (!timers_) return ring_->drain(sink);
    SinkOf ring_side([&](const Record& record) { take_of_ring(record, sink); });
    SinkOf timer_side([&](const Record& record) { take_of_timers(record, sink); });
    // The timers' samples are gathered first: perf's samples of any earlier time are in its rings by then.
    timers_->begin_round(timer_side);
    timers_->timers().take_all_of([this](std::uint32_t tid) { return ring_->samples(tid); });
    ring_->drain(ring_side);
    take_timers_until(~std::uint64_t{0} - 1, sink);
    timers_->end_round(timer_side);
    facts_.buffer_bytes = ring_->facts().buffer_bytes + timers_->facts().buffer_bytes;
    facts_.fill_ns = std::min(ring_->facts().fill_ns, timers_->facts().fill_ns);
    if (const auto& note = timers_->facts().note; note != timers_note_) {
        timers_note_ = note;
        // What timers alone would say at the start, of their tick, is little for the kernel's time.
        std::string_view news = note;
        if (news.ends_with(timers_own_note_)) news.remove_suffix(timers_own_note_.size());
        if (news.ends_with("; ")) news.remove_suffix(2);
        facts_.note = own_note_ + "; " + std::string(news);
        facts_.signal_lost = timers_->facts().signal_lost;
    }
}

void RingAndTimerSource::take_timers_until(std::uint64_t time_ns, RecordSink& out) {
    SinkOf side([&](const Record& record) { take_of_timers(record, out); });
    while (timers_->next_time() <= time_ns) timers_->take_next(side);
}

// Threads, mappings and losses are told by perf's rings: where a timer's sample was lost, the thread's others weigh the
// more.
void RingAndTimerSource::take_of_timers(const Record& record, RecordSink& out) {
    const auto weigh = [&](TimeSample sample) {
        if (ring_->samples(sample.tid)) sample.weight = share_.weigh(sample.tid, sample.weight, sample.registers.pc());
        if (sample.weight != 0) out.take(sample);
    };
    const auto not_sampled = [&](const TimeNotSampled& time) {
        ring_->samples(time.tid) ? share_.unsampled(time.tid) : out.take(time);
    };
    const auto use = [&](const TimeUsed& time) { share_.used(time.tid, time.cpu_ns, time.user_ns); };
    std::visit(Overloaded{weigh, not_sampled, use, [](const auto&) {}}, record);
}

void RingAndTimerSource::take_of_ring(const Record& record, RecordSink& out) {
    const auto count_user_time = [&](const TimeSample& sample) {
        take_timers_until(sample.time_ns, out);
        const bool after_call = sample.has_registers && cpu::after_system_call(sample.registers);
        share_.user_sample(sample.tid, sample.weight, after_call ? std::optional(sample.registers.pc()) : std::nullopt);
    };
    const auto keep_order = [&](const EventSample& sample) { take_timers_until(sample.time_ns, out); };
    const auto count_lost = [&](const SamplesLost& lost) {
        if (lost.event == 0) share_.lost(lost.weight);
    };
    const auto count_not_sampled = [&](const TimeNotSampled& time) { share_.lost(time.cpu_ns); };
    const auto forget_thread = [&](const ThreadEnded& end) {
        take_timers_until(end.time_ns, out);
        share_.forget(end.tid);
    };
    std::visit(
        Overloaded{count_user_time, keep_order, count_lost, count_not_sampled, forget_thread, [](const auto&) {}},
        record);
    out.take(record);
}

}  // namespace

Result<std::unique_ptr<EventSource>> add_kernel_time(std::unique_ptr<EventSource>& ring,
                                                     const CaptureOptions& options) {
    auto timers = TimerSource::open(options, uneven_period(ring->facts().period_ns, monotonic_ns()),
                                    TimerSource::Samples::kernel_time);
    if (!timers) return timers.error();
    return std::unique_ptr<EventSource>(std::make_unique<RingAndTimerSource>(std::move(ring), std::move(*timers)));
}

}  // namespace flameprobe
