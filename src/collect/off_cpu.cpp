#include "collect/off_cpu.hpp"

#include "base/clock.hpp"
#include "base/host_process.hpp"
#include "base/proc.hpp"

namespace flameprobe {
namespace {

// Reading a stack takes some 20 us: after this many looks the records are drained, so that the threads' states are
// fresh.
constexpr std::size_t looks_between_drains = 16;
// CPU time that the waits of one look may take: of a thousand threads only some are read, so that 99 looks a second
// cost 1.5 % of a CPU.
constexpr double most_ns_of_a_look = 150'000;
constexpr std::uint64_t settle_every_ns = 50'000'000;
// A thread without a sample or a stack gets an entry of its own in the profile only for a span of at least this length.
constexpr std::uint64_t worth_a_thread_ns = 1'000'000;

}  // namespace

OffCpu::OffCpu(Pipeline& pipeline, const OffCpuSettings& settings)
    : pipeline_(pipeline),
      settings_(settings),
      registry_(settings.least_ns, 1'000'000'000 / settings.frequency,
                [this](const WaitRegistry::Span& span) { emit(span); }),
      holders_(pipeline, reader_),
      ticks_(
          reader_, [this](std::uint32_t tid, const BlockedThread& thread) { return read_wait(tid, thread); },
          [this](HeldLooks& looks) { holders_.look_again(looks); },
          [this](std::uint32_t tid) { return pipeline_.last_stack(tid); },
          [this](const WaitRegistry::Span& span) { emit(span); }),
      random_(static_cast<unsigned>(monotonic_ns())),
      records_(settings.records) {}

void OffCpu::begin(std::uint64_t now_ns) {
    settle_all();
    until_ns_ = not_paused;
    last_look_ns_ = last_record_ns_ = now_ns;
    if (records_) registry_.begin(now_ns, list_other_threads());
    set_next_look(now_ns);
}

void OffCpu::pause(std::uint64_t now_ns) {
    if (!running()) return;
    until_ns_ = now_ns;
    if (!records_) ticks_.end(now_ns);
}

void OffCpu::take(const Record& record) {
    std::visit([this](const auto& kind) { on(kind); }, record);
}

void OffCpu::on(const ThreadSwitched& record) {
    last_record_ns_ = record.time_ns;
    if (!records_ || record.time_ns > until_ns_) return;
    registry_.set_cpu_stack(record.tid, pipeline_.last_stack(record.tid));
    registry_.switched(record);
}

void OffCpu::on(const ThreadStarted& thread) {
    if (!running()) return;
    if (!records_) return ticks_.meet(thread.tid);
    if (thread.time_ns != 0) registry_.started(thread.tid, thread.time_ns);
}

void OffCpu::on(const ThreadEnded& thread) {
    registry_.ended(thread.tid, thread.time_ns);
    reader_.forget(thread.tid);
    holders_.thread_ended(thread.tid);
}

void OffCpu::on(const SamplesLost& lost) {
    if (lost.event == 0) registry_.lost(last_record_ns_);
}

double OffCpu::uniform() {
    return (static_cast<double>(random_()) + 1) / (static_cast<double>(std::minstd_rand::max()) + 2);
}

// Exponential pauses, so that a program whose period is that of the looks is not always seen at the same place.
void OffCpu::set_next_look(std::uint64_t now_ns) {
    next_look_ns_ =
        now_ns + static_cast<std::uint64_t>(-natural_log(uniform()) * 1e9 / static_cast<double>(settings_.frequency));
}

std::uint64_t OffCpu::until_look_ns() const {
    const std::uint64_t now = monotonic_ns();
    return next_look_ns_ > now ? next_look_ns_ - now : 0;
}

void OffCpu::look(const std::function<void()>& drain) {
    const std::uint64_t now = monotonic_ns();
    if (!running() || now < next_look_ns_) return;
    holders_.begin_look();
    if (!records_) {
        ticks_.look(now);
        return set_next_look(now);
    }
    drain();  // anew and quickly: the last one may have had much to do, and the latest waits are the soonest over
    registry_.doubt_starts(now);
    registry_.unread(unread_);
    const double share = std::min(1.0, most_ns_of_a_look / (cost_ns_ * static_cast<double>(unread_.size() + 1)));
    registry_.looks().add_pause(now - last_look_ns_, share);
    last_look_ns_ = now;
    look_at_some(share, drain);
    // Each costs some 10 us.
    const std::size_t most_held = share < 1 ? 2 : 4;
    registry_.held(most_held, held_);
    for (HeldLooks* const looks : held_) holders_.look_again(*looks);
    read_accounts();
    set_next_look(now);
}

// Each by lot, whatever it is and however long it has lasted: then it is known how likely it was to be read.
void OffCpu::look_at_some(double share, const std::function<void()>& drain) {
    const std::uint64_t began_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
    std::size_t looked = 0;
    for (const auto& wait : unread_) {
        if (uniform() > share) continue;
        if (++looked % looks_between_drains == 0) drain();
        look_at(wait);
    }
    if (looked == 0) return;
    const auto taken_ns = static_cast<double>(read_clock(CLOCK_THREAD_CPUTIME_ID) - began_ns);
    cost_ns_ += (taken_ns / static_cast<double>(looked) - cost_ns_) / 8;
}

// Of threads in any state: one that wants a CPU more than it waits is hardly ever found blocked.
void OffCpu::read_accounts() {
    constexpr std::size_t most = 4;  // some 2 us each
    registry_.without_account(monotonic_ns(), most, without_account_);
    for (const std::uint32_t tid : without_account_) {
        if (const auto schedule = reader_.schedule(tid))
            registry_.account_read(tid, schedule->cpu_ns, schedule->delay_ns, monotonic_ns());
    }
}

WaitPlace OffCpu::read_wait(std::uint32_t tid, const BlockedThread& thread) {
    bool whole = false;
    pipeline_.sampled(tid, monotonic_ns());
    const StackId stack = pipeline_.blocked_stack(thread, whole);
    truncated_ += whole ? 0 : 1;
    auto held = holders_.find(tid, thread);
    return {stack, reasons_.find(thread.call, reader_.channel(tid)), std::move(held)};
}

// The thread may wake meanwhile: the time of the record that says so tells whether what was read is right.
void OffCpu::look_at(const WaitRegistry::Wait& wait) {
    if (!registry_.is_unread(wait)) return;
    ++looks_;
    BlockedThread thread;
    switch (reader_.read(wait.tid, thread)) {
        case BlockedReader::Outcome::blocked: {
            const auto what = read_wait(wait.tid, thread);
            registry_.read(wait, what, monotonic_ns());
            break;
        }
        case BlockedReader::Outcome::runs:
            registry_.runs(wait);
            break;
        case BlockedReader::Outcome::gone:
        case BlockedReader::Outcome::refused:
            registry_.give_up(wait);
            break;
    }
}

void OffCpu::settle(std::uint64_t drained_ns) {
    drained_ns_ = drained_ns;
    if (!running() || drained_ns < last_settle_ns_ + settle_every_ns) return;
    last_settle_ns_ = drained_ns;
    watch_rate(drained_ns);
    records_ ? registry_.settle(drained_ns) : ticks_.settle(drained_ns);
}

// Above this the records alone take some percent of a CPU from the host (docs/waiting.md).
void OffCpu::watch_rate(std::uint64_t now_ns) {
    constexpr std::uint64_t most_switches_a_second = 50'000, for_ns = 500'000'000;
    if (!records_ || now_ns < rate_since_ns_ + for_ns) return;
    const std::uint64_t records = registry_.totals().records;
    // Each switch is two records.
    const std::uint64_t most = 2 * most_switches_a_second * (now_ns - rate_since_ns_) / 1'000'000'000;
    too_many_ = rate_since_ns_ != 0 && records - records_before_ > most;
    rate_since_ns_ = now_ns;
    records_before_ = records;
}

void OffCpu::continue_without_records(std::uint64_t now_ns) {
    registry_.settle_all(now_ns);
    records_ = too_many_ = false;
}

void OffCpu::settle_all() {
    registry_.settle_all(std::min(monotonic_ns(), until_ns_));
    ticks_.settle_all();
}

void OffCpu::emit(const WaitRegistry::Span& span) {
    const bool worth = span.ns >= worth_a_thread_ns || span.stack != 0;
    const ThreadId thread = pipeline_.threads().shown(pipeline_.thread_of(span.tid, worth));
    const bool idle = span.kind == WaitRegistry::Kind::idle && !(span.held && span.held->is_deadlock());
    // Who attaches to a program that hangs asks for just these.
    emitted_ = emitted_ || !idle || is_watched_from_outside();
    if (span.kind == WaitRegistry::Kind::waited || span.kind == WaitRegistry::Kind::unsampled)
        reasons_.add(span.reason, span.ns, span.waits);
    if (span.held && !idle) locks_.add(span.held->lock(), span.waits, span.lasted_ns);
    const EventId event = idle ? settings_.idle_event : settings_.event;
    never_woke_ns_ += idle ? span.ns : 0;
    if (span.held && span.stack != 0) return emit_held(span, event, thread);
    pipeline_.event_sample(event, {span.begin_ns, thread, stack_of(span), span.ns, span.hits});
}

// Each look at the wait stands for the same part of it.
void OffCpu::emit_held(const WaitRegistry::Span& span, EventId event, ThreadId thread) {
    const auto looks = span.held->take();
    std::uint64_t emitted = 0;
    for (std::size_t at = 0; at < looks.size(); ++at) {
        const std::uint64_t part = (span.ns - emitted) / (looks.size() - at);
        pipeline_.event_sample(event, {span.begin_ns + emitted, thread, holders_.stack_with(span.stack, *looks[at]),
                                       part, at == 0 ? span.hits : 0});
        emitted += part;
    }
}

StackId OffCpu::stack_of(const WaitRegistry::Span& span) {
    switch (span.kind) {
        case WaitRegistry::Kind::waited:
        case WaitRegistry::Kind::idle:
            return span.stack != 0 ? span.stack : pipeline_.stacks().note_above(0, "[wait not sampled]");
        case WaitRegistry::Kind::preempted:
            return pipeline_.stacks().note_above(span.stack, "[preempted]");
        case WaitRegistry::Kind::unsampled:
            return pipeline_.stacks().note_above(0, "[wait not sampled]");
        case WaitRegistry::Kind::lost:
            break;
    }
    return pipeline_.stacks().of_note(Note::lost);
}

void OffCpu::add_to(Counters& counters) const {
    const auto& totals = registry_.totals();
    counters["off-CPU: switch records"] = totals.records;
    counters[std::string(counter::waits)] = totals.waits;
    counters["off-CPU: waits with a stack"] = totals.waits_read;
    counters[std::string(counter::preemptions)] = totals.preemptions;
    counters["off-CPU: blocked ns"] = totals.blocked_ns + ticks_.blocked_ns();
    counters["off-CPU: preempted ns"] = totals.preempted_ns + ticks_.delay_ns();
    counters["off-CPU: looks at threads"] = looks_ + ticks_.looks();
    counters["off-CPU: woke while looked at"] = totals.waits_raced + ticks_.raced();
    counters["off-CPU: stacks truncated"] = truncated_;
    reasons_.add_to(counters, totals.waits);
    locks_.add_to(counters);
    if (never_woke_ns_ != 0) counters[std::string(counter::never_woke)] = never_woke_ns_;
    if (totals.lost_ns != 0) counters["off-CPU: ns without records"] = totals.lost_ns;
    if (totals.waits_hidden != 0) {
        counters["off-CPU: shorter waits, hidden"] = totals.waits_hidden;
        counters["off-CPU: ns of shorter waits, hidden"] = totals.hidden_ns;
    }
}

}  // namespace flameprobe
