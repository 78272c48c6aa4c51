// For where perf may not sample the kernel: perf's rings sample user code, and a CPU timer per thread samples system
// calls. Where the timer's signal interrupts the thread shows which of the two an expiry fell into.
#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "capture/event_source.hpp"
#include "capture/kernel_share.hpp"
#include "capture/timer_source.hpp"
#include "cpu/left_system_call.hpp"

namespace flameprobe {
namespace {

class RingAndTimerSource final : public EventSource {
public:
    RingAndTimerSource(std::unique_ptr<EventSource> ring, std::unique_ptr<TimerSource> timers);

    Result<void> start() override;
    void stop() override;
    void drain(EventSink& sink) override;
    bool has_samples() const override { return ring_->has_samples() || (timers_ && timers_->has_samples()); }
    const CaptureFacts& facts() const override { return facts_; }
    bool go_on_without_signals(const std::string& why) override;
    void thread_begins(std::uint32_t tid, std::uint64_t stands_for) override { ring_->thread_begins(tid, stands_for); }
    void stop_switches() override {
        ring_->stop_switches();
        facts_.switches = false;
    }

private:
    /// Stands between one of the two sources and the real sink.
    class Side : public EventSink {
    public:
        Side(RingAndTimerSource& source, EventSink& out) : source_(source), out_(out) {}

    protected:
        RingAndTimerSource& source_;
        EventSink& out_;
    };

    /// Threads, mappings and losses are reported by perf's rings alone.
    class TimerSide final : public Side {
    public:
        using Side::Side;
        void sample(const RawSample& sample) override;
        void mapping(const RawMapping&) override {}
        void thread_name(std::uint32_t, std::string_view) override {}
        void thread_started(std::uint32_t, std::uint32_t, std::uint64_t) override {}
        void thread_ended(std::uint32_t, std::uint64_t) override {}
        void lost(std::uint64_t) override {}  // the thread's other samples weigh the more
        void throttled(std::uint64_t) override {}
        void unsampled(std::uint32_t tid, std::uint64_t cpu_ns, bool in_kernel) override {
            source_.ring_->samples(tid) ? source_.share_.unsampled(tid) : out_.unsampled(tid, cpu_ns, in_kernel);
        }
        void used(std::uint32_t tid, std::uint64_t cpu_ns, std::uint64_t user_ns) override {
            source_.share_.used(tid, cpu_ns, user_ns);
        }
    };

    class RingSide final : public Side {
    public:
        RingSide(RingAndTimerSource& source, EventSink& out, TimerSide& timers) : Side(source, out), timers_(timers) {}
        void sample(const RawSample& sample) override;
        void mapping(const RawMapping& mapping) override { out_.mapping(mapping); }
        void thread_name(std::uint32_t tid, std::string_view name) override { out_.thread_name(tid, name); }
        void thread_started(std::uint32_t tid, std::uint32_t parent, std::uint64_t time_ns) override {
            out_.thread_started(tid, parent, time_ns);
        }
        void thread_ended(std::uint32_t tid, std::uint64_t time_ns) override;
        void lost(std::uint64_t weight) override {
            source_.share_.lost(weight);
            out_.lost(weight);
        }
        void throttled(std::uint64_t time_ns) override { out_.throttled(time_ns); }
        void switched(const RawSwitch& record) override { out_.switched(record); }
        void event_lost(std::uint32_t event, std::uint64_t weight) override { out_.event_lost(event, weight); }
        void event_throttled(std::uint32_t event) override { out_.event_throttled(event); }

    private:
        TimerSide& timers_;
    };

    void settle(EventSink& sink);
    void take_until(std::uint64_t time_ns, TimerSide& side);

    std::unique_ptr<EventSource> ring_;
    std::unique_ptr<TimerSource> timers_;  // null once they are given up
    KernelShare share_;
    CaptureFacts facts_;
    bool stopped_ = false;
    std::string own_note_, timers_note_;  // as they were at the start
};

RingAndTimerSource::RingAndTimerSource(std::unique_ptr<EventSource> ring, std::unique_ptr<TimerSource> timers)
    : ring_(std::move(ring)),
      timers_(std::move(timers)),
      share_(ring_->facts().period_ns,
             std::max(1.0, static_cast<double>(tick_ns()) / static_cast<double>(ring_->facts().period_ns))),
      facts_(ring_->facts()),
      timers_note_(timers_->facts().note) {
    facts_.handlers = true;
    facts_.works_outside = false;  // only a thread of the host can make timers for its threads
    facts_.kernel_time = true;
    facts_.buffer_bytes += timers_->facts().buffer_bytes;
    facts_.fill_ns = std::min(facts_.fill_ns, timers_->facts().fill_ns);
    facts_.note = own_note_ = "user time by perf rings, kernel time by CPU timers: " + ring_->facts().note;
}

Result<void> RingAndTimerSource::start() {
    if (auto started = ring_->start(); !started) return started;
    stopped_ = false;
    if (!timers_) return {};
    if (auto started = timers_->start(); !started) go_on_without_signals(started.error().message);
    return {};
}

void RingAndTimerSource::stop() {
    stopped_ = true;
    ring_->stop();
    if (timers_) timers_->stop();
}

bool RingAndTimerSource::go_on_without_signals(const std::string& why) {
    if (!timers_) return true;
    timers_.reset();
    facts_.note = "time in the kernel has no stack (" + why + "): " + ring_->facts().note;
    return true;
}

void RingAndTimerSource::drain(EventSink& sink) {
    if (!timers_) return ring_->drain(sink);
    TimerSide timer_side(*this, sink);
    RingSide ring_side(*this, sink, timer_side);
    // The timers' samples are gathered first: perf's samples of any earlier time are in its rings by then.
    timers_->begin_round(timer_side);
    timers_->timers().take_all_of([this](std::uint32_t tid) { return ring_->samples(tid); });
    ring_->drain(ring_side);
    take_until(~std::uint64_t{0} - 1, timer_side);
    timers_->end_round(timer_side);
    if (stopped_) settle(sink);
    if (const auto& note = timers_->facts().note; note != timers_note_) {
        timers_note_ = note;
        facts_.note = own_note_ + "; " + note;
        facts_.signal_lost = timers_->facts().signal_lost;
    }
}

void RingAndTimerSource::settle(EventSink& sink) {
    for (const std::uint32_t tid : share_.threads()) {
        if (const std::uint64_t more = share_.settle(tid); more != 0) sink.more_in_system_calls(tid, more);
    }
}

void RingAndTimerSource::take_until(std::uint64_t time_ns, TimerSide& side) {
    while (timers_->next_time() <= time_ns) timers_->take_next(side);
}

void RingAndTimerSource::TimerSide::sample(const RawSample& sample) {
    if (!source_.ring_->samples(sample.tid)) return out_.sample(sample);
    RawSample weighed = sample;
    weighed.weight = source_.share_.weigh(sample.tid, sample.weight, sample.registers.pc());
    if (weighed.weight != 0) out_.sample(weighed);
}

void RingAndTimerSource::RingSide::sample(const RawSample& sample) {
    source_.take_until(sample.time_ns, timers_);
    if (sample.event != 0) return out_.sample(sample);
    const bool after_call = sample.has_registers && cpu::after_system_call(sample.registers);
    source_.share_.user_sample(sample.tid, sample.weight,
                               after_call ? std::optional(sample.registers.pc()) : std::nullopt);
    out_.sample(sample);
}

void RingAndTimerSource::RingSide::thread_ended(std::uint32_t tid, std::uint64_t time_ns) {
    source_.take_until(time_ns, timers_);
    if (const std::uint64_t more = source_.share_.settle(tid); more != 0) out_.more_in_system_calls(tid, more);
    source_.share_.forget(tid);
    out_.thread_ended(tid, time_ns);
}

}  // namespace

Result<std::unique_ptr<EventSource>> add_kernel_time(std::unique_ptr<EventSource>& ring,
                                                     const CaptureOptions& options) {
    auto timers = TimerSource::open(options, ring->facts().period_ns, TimerSource::Samples::kernel_time);
    if (!timers) return timers.error();
    return std::unique_ptr<EventSource>(std::make_unique<RingAndTimerSource>(std::move(ring), std::move(*timers)));
}

}  // namespace flameprobe
