// The default engine: perf rings. No signal, nothing in the host's threads but the kernel's timer interrupt.
//
// Each thread has one event of its own for all CPUs. The descriptors live in the collector's own table, so the host can
// neither see, run out of, nor close them.

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/host_process.hpp"
#include "base/proc.hpp"
#include "capture/event_source.hpp"
#include "capture/map_watch.hpp"
#include "capture/perf_event.hpp"
#include "capture/perf_record.hpp"
#include "capture/thread_finder.hpp"
#include "capture/thread_rings.hpp"

namespace flameprobe {
namespace {

class RingSource final : public EventSource {
public:
    static Result<std::unique_ptr<EventSource>> open(const CaptureOptions& options);

    Result<void> start() override;
    void stop() override { stop_rings(false); }
    void stop_for_good() override { stop_rings(true); }
    void drain(RecordSink& sink) override;
    bool has_samples() const override;
    const CaptureFacts& facts() const override { return facts_; }
    bool ended() override { return threads_.all_ended(); }
    void thread_begins(const NewThread& thread) override { threads_.begins(thread); }
    bool samples(std::uint32_t tid) const override { return threads_.has_event(tid); }
    void rights_end() override;
    void stop_switches() override;

private:
    Result<void> open_main(const CaptureOptions& options);
    void choose_more_events(const CaptureOptions& options);
    void open_running();
    const RecordLayout& layout_of(const ThreadRings::Next& next) const;
    void hand_on(const ThreadRings::Next& next, std::span<const std::byte> bytes, RecordSink& sink);
    void complete(ThreadEvents& thread, Record& record, RecordSink& sink);
    void tell_lost(ThreadEvents& thread, RecordSink& sink);
    void read_maps(RecordSink& sink);
    void describe(const CaptureOptions& options);
    void note_missing();
    void stop_rings(bool for_good);

    ThreadEventSettings settings_;
    RecordLayout layout_;
    RecordLayout inherited_layout_;           // whose samples have no counts
    std::vector<RecordLayout> more_layouts_;  // by EventSample::event - 1
    ThreadRings rings_;
    ThreadFinder threads_{rings_, static_cast<std::uint32_t>(host_process())};
    MapWatch maps_;
    CaptureFacts facts_;
    std::string own_note_;
    bool stopped_ = false;  // since the last drain
};

Result<std::unique_ptr<EventSource>> RingSource::open(const CaptureOptions& options) {
    clock_lead_ns = monotonic_lead_ns();
    auto source = std::make_unique<RingSource>();
    if (auto opened = source->open_main(options); !opened) return opened.error();
    return std::unique_ptr<EventSource>(std::move(source));
}

Result<void> RingSource::open_main(const CaptureOptions& options) {
    auto attributes = make_attributes(options);
    if (!attributes) return attributes.error();
    settings_.own = *attributes;
    if (is_clock(settings_.own)) {
        layout_.weight = settings_.own.sample_period;
        layout_.counts = true;
    }
    perf_event_attr permitted = settings_.own;
    if (const auto tried = open_event(permitted, thread_for_trials(), -1); !tried) return tried.error();
    settings_.own = permitted;
    settings_.rate = clock_rate(permitted);
    if (options.switches) {
        auto switches = make_switch_attributes();
        const auto tried = open_event(switches, thread_for_trials(), -1);
        facts_.switches = static_cast<bool>(tried);
        if (tried) settings_.switches = switches;
        if (!tried) facts_.no_switches = tried.error().message;
    }
    layout_.kernel_chain = (permitted.sample_type & PERF_SAMPLE_CALLCHAIN) != 0;
    layout_.stack = (permitted.sample_type & PERF_SAMPLE_STACK_USER) != 0;
    inherited_layout_ = layout_;
    inherited_layout_.counts = false;
    const auto main_thread = static_cast<std::uint32_t>(host_process());
    layout_.counts_lost = permitted.read_format == PERF_FORMAT_LOST;
    choose_more_events(options);
    const bool at_once = options.at_once && threads_.only_main();
    if (auto opened = rings_.open_main(settings_, options.frequency, main_thread, at_once); !opened) return opened;
    open_running();
    describe(options);
    return {};
}

// In rings of their own: what is lost or throttled there is no CPU time.
void RingSource::choose_more_events(const CaptureOptions& options) {
    for (const std::string& name : options.more_events) {
        auto attributes = make_more_attributes(settings_.own, name, options.frequency);
        const auto opened =
            attributes ? open_event(*attributes, thread_for_trials(), -1) : Result<Descriptor>(attributes.error());
        if (!opened) {
            facts_.no_more_events +=
                (facts_.no_more_events.empty() ? "" : "; ") + name + " is not sampled: " + opened.error().message;
            continue;
        }
        RecordLayout layout = inherited_layout_;
        layout.event = static_cast<std::uint32_t>(settings_.more.size() + 1);
        layout.kernel_chain = (attributes->sample_type & PERF_SAMPLE_CALLCHAIN) != 0;
        layout.weight = attributes->freq == 0 ? attributes->sample_period : 1;
        more_layouts_.push_back(layout);
        settings_.more.push_back(*attributes);
        facts_.more_events.push_back({name, kind_of(*attributes)});
    }
}

void RingSource::open_running() {
    threads_.find(true);
    while (threads_.without_event() != 0 && rings_.begin_again_smaller()) threads_.find_all_anew();
    note_missing();
    facts_.earlier_threads = rings_.size() + threads_.without_event() - 1;
    facts_.unattached_threads = threads_.without_event();
    threads_.mappings_are_read();  // when recording begins
}

void RingSource::note_missing() {
    if (const std::string missing = threads_.take_refusal(); !missing.empty())
        facts_.note = missing + (own_note_.empty() ? "" : "; ") + own_note_;
}

void RingSource::describe(const CaptureOptions& options) {
    facts_.engine = EngineKind::ring;
    facts_.works_outside = facts_.meets_threads = true;
    facts_.reaches = settings_.rate.one_shots && settings_.rate.period_ns != 0;
    facts_.event = options.event;
    facts_.event_kind = kind_of(settings_.own);
    facts_.kernel = settings_.own.exclude_kernel == 0;
    facts_.frequency = options.frequency;
    facts_.period_ns = settings_.rate.period_ns;
    facts_.buffer_bytes = rings_.bytes();
    facts_.fill_ns = rings_.fill_ns();
    if (options.kernel && !facts_.kernel) {
        own_note_ = "kernel code may not be sampled (kernel.perf_event_paranoid is " + paranoid_text() +
                    ", 1 or less is needed)";
    }
    facts_.note = facts_.unattached_threads != 0 ? facts_.note : own_note_;
}

Result<void> RingSource::start() {
    threads_.find(true);
    note_missing();
    return rings_.enable() ? Result<void>() : Error{"the perf event cannot be enabled"};
}

void RingSource::rights_end() {
    const std::uint64_t period = rings_.open_inherited();
    if (layout_.counts) inherited_layout_.weight = period;
}

void RingSource::stop_rings(bool for_good) {
    stopped_ = true;
    rings_.disable(for_good);
}

void RingSource::stop_switches() {
    rings_.stop_switches();
    facts_.switches = false;
}

bool RingSource::has_samples() const {
    return rings_.any_record([](std::uint32_t type) {
        return type == PERF_RECORD_SAMPLE || type == PERF_RECORD_LOST || type == PERF_RECORD_LOST_SAMPLES;
    });
}

void RingSource::drain(RecordSink& sink) {
    threads_.find(false);
    rings_.begin_round();
    for (auto next = rings_.oldest(); next.ring != nullptr; next = rings_.oldest()) {
        hand_on(next, next.ring->ring.peek(), sink);
        rings_.consume();
    }
    const bool stopped = std::exchange(stopped_, false);
    for (const auto& thread : rings_)
        if (stopped || thread->ended) tell_lost(*thread, sink);
    for (const std::uint32_t tid : threads_.take_gone()) sink.take(ThreadEnded{tid, monotonic_ns()});
    // After the records of their births, by which they have their makers' names.
    for (const auto& [tid, at_birth] : threads_.take_found())
        if (const std::string name = thread_comm(tid); !name.empty()) sink.take(ThreadNamed{tid, name});
    rings_.end_round();
    facts_.fill_ns = rings_.fill_ns();
    facts_.buffer_bytes = rings_.bytes();
    note_missing();
    read_maps(sink);
}

const RecordLayout& RingSource::layout_of(const ThreadRings::Next& next) const {
    if (next.ring->number != 0) return more_layouts_[next.ring->number - 1];
    return next.thread->inherited ? inherited_layout_ : layout_;
}

void RingSource::hand_on(const ThreadRings::Next& next, std::span<const std::byte> bytes, RecordSink& sink) {
    auto record = read_record(bytes, layout_of(next));
    if (!record) return;
    if (next.thread->inherited) {
        const auto* const sample = std::get_if<TimeSample>(&*record);
        if (sample != nullptr && rings_.knows(sample->tid)) return;
    } else if (next.ring->number == 0) {
        complete(*next.thread, *record, sink);
    }
    sink.take(*record);
    if (const auto* const born = std::get_if<ThreadStarted>(&*record))
        if (const std::string name = threads_.name_at_birth(born->tid); !name.empty())
            sink.take(ThreadNamed{born->tid, name});
}

void RingSource::complete(ThreadEvents& thread, Record& record, RecordSink& sink) {
    const auto weigh = [&](TimeSample& sample) {
        if (!layout_.counts) return;
        thread.lost_records = sample.lost_records;
        sample.weight = thread.clock.weigh(sample.weight) * thread.stands_for;
        if (const std::uint64_t lost = thread.clock.take_lost_ns(); lost != 0)
            sink.take(TimeNotSampled{thread.tid, lost * thread.stands_for, false});
    };
    const auto keep = [&](SamplesLost& lost) {
        if (!layout_.counts) return;
        thread.clock.lost(lost.weight / layout_.weight);
        lost.weight = 0;
    };
    const auto note_birth = [&](const ThreadStarted& born) { threads_.born(born.tid); };
    const auto note_end = [&](const ThreadEnded& end) {
        if (end.tid != thread.tid) return;
        tell_lost(thread, sink);
        threads_.ended(thread);
    };
    std::visit(Overloaded{weigh, keep, note_birth, note_end, [](const auto&) {}}, record);
}

// A ring that stays full has no record of what it had no room for.
void RingSource::tell_lost(ThreadEvents& thread, RecordSink& sink) {
    if (!layout_.counts || thread.inherited) return;
    const auto now = ThreadRings::counts(thread);
    if (!now) return;
    const std::uint64_t before = std::exchange(thread.lost_records, now->lost_records);
    const std::uint64_t records = now->lost_records - std::min(now->lost_records, before);
    if (const std::uint64_t lost = thread.clock.take_lost_until(now->cpu_ns, records); lost != 0)
        sink.take(TimeNotSampled{thread.tid, lost * thread.stands_for, false});
}

// A thread that had no event yet may have loaded code.
void RingSource::read_maps(RecordSink& sink) {
    if (!sink.met_unknown_code() || threads_.know_all_mappings()) return;
    maps_.met_unknown_code();
    maps_.refresh(sink, monotonic_ns());
}

}  // namespace

Result<std::unique_ptr<EventSource>> open_ring_source(const CaptureOptions& options) {
    return RingSource::open(options);
}

}  // namespace flameprobe
