// What ThreadTimers does once in each drain for the threads it knows.
#include <algorithm>

#include "capture/handler/attach.hpp"
#include "capture/thread_clock.hpp"
#include "capture/thread_timers.hpp"

namespace flameprobe {
namespace {

constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint64_t millisecond = 1'000'000;

}  // namespace

std::uint64_t ThreadTimers::expected(std::size_t index, std::uint64_t cpu_ns) const {
    const std::uint64_t first = state_.slots[index].first_ns;
    return first == 0 || cpu_ns < first ? 0 : (cpu_ns - first) / state_.period_ns + 1;
}

void ThreadTimers::finish_round(EventSink& sink, MapWatch& maps, std::uint64_t now_ns) {
    for (std::size_t i = 0; i < records_.size(); ++i) {
        if (records_[i].ended) free_slot(i);
    }
    if (!state_.sampling.load(std::memory_order_relaxed)) return;  // stopped: nothing to arm
    find_stacks(sink, maps, now_ns);
    // With thousands of threads, those that sleep are looked at in turn.
    constexpr std::size_t in_turn = 512;
    const std::size_t from = next_visit_ < records_.size() ? next_visit_ : 0;
    for (std::size_t i = 0; i < records_.size(); ++i) {
        const bool turn = (i + records_.size() - from) % records_.size() < in_turn;
        if (records_[i].tid != 0 &&
            (turn || records_[i].sampled != 0 || slot(i).user_hits.load(std::memory_order_relaxed) != 0))
            visit(i, sink, now_ns);
    }
    next_visit_ = from + in_turn;
}

void ThreadTimers::visit(std::size_t index, EventSink& sink, std::uint64_t now_ns) {
    Record& record = records_[index];
    const auto cpu = cpu_time(record.tid);
    // A clock that went back is that of another thread, which got the same tid.
    if (!cpu || *cpu < record.cpu_ns) {
        record.ended = true;
        if (record.duplicate) return;
        --live_;
        sink.thread_ended(record.tid, now_ns);
        return;
    }
    if (record.duplicate) return;
    const std::uint64_t in_user = slot(index).user_hits.exchange(0, std::memory_order_relaxed);
    record.delivered += in_user;
    record.sampled += in_user;
    const bool ran = record.sampled != 0 || (!state_.timers && *cpu != record.cpu_ns);
    if (ran && !state_.kernel_only && now_ns >= record.named_ns + second) read_name(record, sink, now_ns);
    if (!state_.timers) {
        // Nothing to arm, and no account is kept.
    } else if (record.masked || slot(index).timer < 0) {
        visit_unattached(index, *cpu, sink);
    } else {
        visit_armed(index, *cpu, sink, now_ns);
    }
    if (const auto dropped = slot(index).dropped.exchange(0, std::memory_order_relaxed); dropped != 0) {
        record.delivered += dropped;
        sink.lost(dropped);
    }
    if (state_.kernel_only && *cpu != record.cpu_ns) sink.used(record.tid, *cpu - record.cpu_ns, in_user);
    record.cpu_ns = *cpu;
    record.sampled = 0;
}

void ThreadTimers::visit_unattached(std::size_t index, std::uint64_t cpu_ns, EventSink& sink) {
    Record& record = records_[index];
    if (cpu_ns == record.cpu_ns) return;
    sink.unsampled(record.tid, cpu_ns - record.cpu_ns);
    if (slot(index).timer < 0 && handler::make_timer(state_, static_cast<std::uint32_t>(index)) != 0) return;
    if (blocks_our_signal(record.tid)) {
        record.masked = true;
        return;
    }
    record.masked = false;
    arm(index, cpu_ns);
}

// A thread that blocks the signal is not only not sampled: its pending signal may be what a sigwait of the host
// returns, and the overruns of all that time would be booked on the first place after it. So its timer is put to rest.
void ThreadTimers::visit_armed(std::size_t index, std::uint64_t cpu_ns, EventSink& sink, std::uint64_t now_ns) {
    Record& record = records_[index];
    const std::uint64_t due = expected(index, cpu_ns);
    const std::uint64_t missing = due - std::min(due, record.delivered);
    const std::uint64_t usual = tick_ns_ / state_.period_ns + 2;
    // A busy machine may keep the tick from a thread for a while: look rarely.
    const bool suspect = missing > usual && record.sampled == 0 && now_ns >= record.looked_ns + 20 * millisecond;
    if (suspect) record.looked_ns = now_ns;
    if (suspect && blocks_our_signal(record.tid)) {
        handler::arm_timer(state_, slot(index), 0);
        record.masked = true;
        sink.unsampled(record.tid, missing * state_.period_ns);
    } else if (missing == 0 && record.sampled != 0 && state_.period_ns > tick_ns_) {
        shift_phase(index, cpu_ns);
    }
}

// The tick decides when an expiry is noticed, and a host that works in step with it would always be seen at the same
// place. So the expiry moves at random within its period: period by period there is still exactly one, so that samples
// × period stays the thread's CPU time. Not where one is due: it would be lost (usual with periods below the tick,
// whose weights vary by themselves), nor so close before it that the thread could get there first.
void ThreadTimers::shift_phase(std::size_t index, std::uint64_t cpu_ns) {
    Record& record = records_[index];
    const std::uint64_t period = state_.period_ns;
    const std::uint64_t margin = millisecond / 2;
    const std::uint64_t next = slot(index).first_ns + record.delivered * period;
    if (next < cpu_ns + margin) return;
    const std::uint64_t begin = next - next % period;
    const std::uint64_t earliest = std::max(begin, cpu_ns + margin);
    if (earliest >= begin + period) return;
    const std::uint64_t room = begin + period - earliest;
    const std::uint64_t moved = earliest + handler::random_phase(state_, ++random_) % room;
    handler::arm_timer(state_, slot(index), std::max<std::uint64_t>(moved, 1));
    record.delivered = 0;
}

void ThreadTimers::read_name(Record& record, EventSink& sink, std::uint64_t now_ns) {
    record.named_ns = now_ns;
    auto name = tasks_.comm(record.tid);
    if (name.empty() || name == record.name) return;
    record.name = std::move(name);
    sink.thread_name(record.tid, record.name);
}

void ThreadTimers::find_stacks(EventSink& sink, MapWatch& maps, std::uint64_t now_ns) {
    constexpr std::uint8_t tries = 3;
    for (std::size_t i = 0; i < records_.size(); ++i) {
        Record& record = records_[i];
        const bool main_thread = is_main(record);
        if (record.tid == 0 || record.ended || record.stack_known || record.stack_tries == tries) continue;
        const std::uint64_t block = slot(i).control_block.load(std::memory_order_relaxed);
        if (!main_thread && block == 0) continue;
        auto range = maps.stack_below(main_thread ? 0 : block);
        const bool outdated = range.high == 0 || range.low == slot(i).stack_low;
        if (outdated && maps.read_ns() != now_ns) {
            maps.read(sink, now_ns);
            range = maps.stack_below(main_thread ? 0 : block);
        }
        ++record.stack_tries;
        if (range.high == 0) continue;
        record.stack_known = true;
        slot(i).stack_high.store(range.high, std::memory_order_relaxed);
        slot(i).stack_low.store(range.low, std::memory_order_release);
    }
}

}  // namespace flameprobe
