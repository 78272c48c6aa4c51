#include "capture/thread_timers.hpp"

#include <algorithm>
#include <utility>

#include "capture/handler/handler.hpp"

namespace flameprobe {

ThreadTimers::ThreadTimers(handler::State& state) : state_(state), slots_(state), tick_ns_(tick_ns()) {}

void ThreadTimers::find_threads() {
    slots_.attach_running([this](std::size_t i) { return i < records_.size() && records_[i].ended; });
}

// Threads that were attached since the last round have slots and no records yet: after stop() they lack timers too.
void ThreadTimers::start() {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        const std::uint32_t tid = slots_.owner(i);
        if (tid == 0 || !slots_.ready(i) || slots_[i].duplicate) continue;
        Record* const record = i < records_.size() && records_[i].tid != 0 ? &records_[i] : nullptr;
        const auto cpu = cpu_time(tid);
        if (!cpu || (record != nullptr && *cpu < record->cpu_ns)) {
            if (record != nullptr) record->ended = true;
            continue;
        }
        const bool masked = slots_.blocks_our_signal(tid);
        if (slots_[i].timer < 0) handler::make_timer(state_, static_cast<std::uint32_t>(i));
        if (record != nullptr) {
            record->cpu_ns = *cpu;
            record->masked = masked;
        } else {
            slots_[i].masked = masked;
        }
        if (!masked) slots_.arm(i, *cpu);
    }
    find_threads();
}

void ThreadTimers::find_new(RecordSink& sink, std::uint64_t now_ns) {
    const std::size_t running = slots_.tasks().count();
    const bool sampling = state_.sampling.load(std::memory_order_relaxed);
    if (!sampling) {
        // Stopped: only threads that attached themselves before, whose samples are about to be read.
    } else if (now_ns >= next_scan_ns_ || (running != 0 && running != live_ + 1)) {
        find_threads();
        next_scan_ns_ = now_ns + ns_per_second;
    }
    bool more = false;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (slots_.owner(i) == 0 || !slots_.ready(i)) continue;
        if (i < records_.size() && records_[i].tid != 0) continue;
        take_over(i, sink);
        more = true;
    }
    if (more) drop_duplicates();
}

void ThreadTimers::take_over(std::size_t index, RecordSink& sink) {
    if (index >= records_.size()) records_.resize(index + 1);
    const std::uint32_t tid = slots_.owner(index);
    const bool known =
        std::any_of(records_.begin(), records_.end(), [tid](const Record& r) { return r.tid == tid && !r.ended; });
    Record& record = records_[index] = Record{};
    record.tid = tid;
    record.masked = slots_[index].masked;
    record.cpu_ns = slots_[index].attached_ns;
    if (!state_.kernel_only)
        record.name = slots_[index].name[0] != '\0' ? std::string(slots_[index].name) : slots_.tasks().comm(record.tid);
    ++live_;
    if (known) return;  // drop_duplicates decides
    sink.take(ThreadStarted{record.tid, 0, 0});
    if (!record.name.empty()) sink.take(ThreadNamed{record.tid, record.name});
}

// A thread may have attached itself while the collector was attaching it.
void ThreadTimers::drop_duplicates() {
    std::vector<std::pair<std::uint32_t, std::size_t>> owned;
    for (std::size_t i = 0; i < records_.size(); ++i) {
        if (records_[i].tid != 0 && !records_[i].ended && !slots_[i].duplicate) owned.emplace_back(records_[i].tid, i);
    }
    std::sort(owned.begin(), owned.end());
    for (std::size_t i = 1; i < owned.size(); ++i) {
        if (owned[i].first != owned[i - 1].first) continue;
        const bool first_is_ours = !slots_[owned[i - 1].second].by_itself;
        const std::size_t drop = first_is_ours ? owned[i - 1].second : owned[i].second;
        handler::delete_timer(state_, slots_[drop]);
        slots_[drop].duplicate = true;
        --live_;
    }
}

std::uint64_t ThreadTimers::account(const handler::CellHead& cell) {
    const std::uint64_t weight = cell.weight;
    if (cell.slot >= records_.size() || slots_[cell.slot].generation != cell.generation) return weight;
    Record& record = records_[cell.slot];
    if (slots_[cell.slot].duplicate) return 0;
    // The signal was pending while it was blocked: all of that time was reported as unsampled, or will be.
    if (record.masked) return 0;
    record.sampled += weight;
    // The main thread's stack has grown since its end was looked up.
    if (record.stack_known && is_main(record) && cell.has_registers &&
        cell.registers.sp() < slots_[cell.slot].stack_low) {
        record.stack_known = false;
        record.stack_tries = 0;
    }
    return weight;
}

void ThreadTimers::finish_round(RecordSink& sink, MapWatch& maps, std::uint64_t now_ns) {
    for (std::size_t i = 0; i < records_.size(); ++i) {
        if (!records_[i].ended) continue;
        slots_.free(i);
        records_[i] = Record{};
    }
    if (!state_.sampling.load(std::memory_order_relaxed)) {  // stopped: nothing to arm
        for (std::size_t i = 0; i < records_.size(); ++i) count_dropped(i, sink);
        return;
    }
    find_stacks(sink, maps, now_ns);
    // With thousands of threads, sleeping ones are visited in turn.
    constexpr std::size_t in_turn = 512;
    const std::size_t from = next_visit_ < records_.size() ? next_visit_ : 0;
    for (std::size_t i = 0; i < records_.size(); ++i) {
        const bool turn = (i + records_.size() - from) % records_.size() < in_turn;
        if (records_[i].tid != 0 &&
            (turn || records_[i].sampled != 0 || slots_[i].user_ns.load(std::memory_order_relaxed) != 0))
            visit(i, sink, now_ns);
    }
    next_visit_ = from + in_turn;
}

void ThreadTimers::visit(std::size_t index, RecordSink& sink, std::uint64_t now_ns) {
    Record& record = records_[index];
    count_dropped(index, sink);
    const auto cpu = cpu_time(record.tid);
    // A clock that went back is that of another thread, which got the same tid.
    if (!cpu || *cpu < record.cpu_ns) {
        record.ended = true;
        if (slots_[index].duplicate) return;
        --live_;
        sink.take(ThreadEnded{record.tid, now_ns});
        return;
    }
    if (slots_[index].duplicate) return;
    const std::uint64_t in_user = slots_[index].user_ns.exchange(0, std::memory_order_relaxed);
    record.sampled += in_user;
    const bool ran = record.sampled != 0 || *cpu != record.cpu_ns;
    if (ran && !state_.kernel_only && now_ns >= record.named_ns + 50 * ns_per_ms) read_name(record, sink, now_ns);
    if (record.masked || slots_[index].timer < 0) {
        visit_unattached(index, *cpu, sink);
    } else {
        visit_armed(index, *cpu, sink, now_ns);
    }
    if (state_.kernel_only && *cpu != record.cpu_ns && !slots_[index].all.load(std::memory_order_relaxed))
        sink.take(TimeUsed{record.tid, *cpu - record.cpu_ns, in_user});
    record.cpu_ns = *cpu;
    record.sampled = 0;
}

void ThreadTimers::count_dropped(std::size_t index, RecordSink& sink) {
    if (records_[index].tid == 0 || slots_[index].duplicate) return;
    const std::uint64_t dropped = slots_[index].dropped.exchange(0, std::memory_order_relaxed);
    if (dropped != 0) sink.take(SamplesLost{dropped});
}

void ThreadTimers::visit_unattached(std::size_t index, std::uint64_t cpu_ns, RecordSink& sink) {
    Record& record = records_[index];
    if (cpu_ns == record.cpu_ns) return;
    if (!record.in_kernel) record.in_kernel = slots_.runs_in_kernel(record.tid);
    sink.take(TimeNotSampled{record.tid, cpu_ns - record.cpu_ns, *record.in_kernel});
    if (*record.in_kernel) return;
    if (slots_[index].timer < 0 && handler::make_timer(state_, static_cast<std::uint32_t>(index)) != 0) return;
    if (slots_.blocks_our_signal(record.tid)) {
        record.masked = true;
        note_blocking(record);
        return;
    }
    record.masked = false;
    slots_.arm(index, cpu_ns);
}

void ThreadTimers::note_blocking(Record& record) {
    blocking_ += record.noted_blocking ? 0 : 1;
    record.noted_blocking = true;
}

// Whether a thread without samples blocks the signal itself. Our handler takes microseconds: a thread that used more
// since it was found to block, and still has no sample, is not in there.
bool ThreadTimers::blocks_for_long(std::size_t index, std::uint64_t cpu_ns, std::uint64_t now_ns) {
    Record& record = records_[index];
    // On a busy machine a thread's tick may come late without any blocking: check rarely.
    if (now_ns < record.looked_ns + 20 * ns_per_ms) return false;
    record.looked_ns = now_ns;
    const auto blocking = slots_.blocking(record.tid);
    if (blocking == TimerSlots::Blocking::no) record.blocked_cpu_ns = 0;
    if (blocking != TimerSlots::Blocking::yes_or_in_handler) return blocking == TimerSlots::Blocking::yes;
    if (record.blocked_cpu_ns == 0) record.blocked_cpu_ns = cpu_ns;
    return cpu_ns >= record.blocked_cpu_ns + ns_per_ms;
}

// A thread that blocks the signal is not only not sampled: its pending signal may be what a sigwait of the host
// returns, and the overruns of all that time would be put down to the first sample after it. So its timer is disarmed.
void ThreadTimers::visit_armed(std::size_t index, std::uint64_t cpu_ns, RecordSink& sink, std::uint64_t now_ns) {
    Record& record = records_[index];
    const std::uint64_t noticed = slots_[index].noticed_ns.load(std::memory_order_relaxed);
    const std::uint64_t missing_ns = cpu_ns - std::min(cpu_ns, noticed);
    constexpr std::uint64_t ticks = 6;  // on a busy machine some come late
    const bool suspect = missing_ns > ticks * tick_ns_ && noticed == record.noticed_ns;
    record.noticed_ns = noticed;
    if (!suspect) record.blocked_cpu_ns = 0;
    if (!suspect || !blocks_for_long(index, cpu_ns, now_ns)) return;
    handler::arm_timer(state_, slots_[index], false);
    record.masked = true;
    note_blocking(record);
    record.blocked_cpu_ns = 0;
    sink.take(TimeNotSampled{record.tid, missing_ns, false});
}

void ThreadTimers::read_name(Record& record, RecordSink& sink, std::uint64_t now_ns) {
    record.named_ns = now_ns;
    auto name = slots_.tasks().comm(record.tid);
    if (name.empty() || name == record.name) return;
    record.name = std::move(name);
    sink.take(ThreadNamed{record.tid, record.name});
}

void ThreadTimers::read_names(const std::vector<std::uint32_t>& tids, RecordSink& sink, std::uint64_t now_ns) {
    constexpr std::uint64_t least_pause_ns = 20 * ns_per_ms;  // reading one takes some 10 us
    for (Record& record : records_)
        if (record.tid != 0 && !record.ended && now_ns >= record.named_ns + least_pause_ns &&
            std::binary_search(tids.begin(), tids.end(), record.tid))
            read_name(record, sink, now_ns);
}

void ThreadTimers::find_stacks(RecordSink& sink, MapWatch& maps, std::uint64_t now_ns) {
    constexpr std::uint8_t tries = 3;
    for (std::size_t i = 0; i < records_.size(); ++i) {
        Record& record = records_[i];
        const bool main_thread = is_main(record);
        if (record.tid == 0 || record.ended || record.stack_known || record.stack_tries == tries) continue;
        const std::uint64_t block = slots_[i].control_block.load(std::memory_order_relaxed);
        if (!main_thread && block == 0) continue;
        auto range = maps.stack_below(main_thread ? 0 : block);
        const bool outdated = range.high == 0 || range.low == slots_[i].stack_low;
        if (outdated && maps.read_ns() != now_ns) {
            maps.read(sink, now_ns);
            range = maps.stack_below(main_thread ? 0 : block);
        }
        ++record.stack_tries;
        if (range.high == 0) continue;
        record.stack_known = true;
        slots_[i].stack_high.store(range.high, std::memory_order_relaxed);
        slots_[i].stack_low.store(range.low, std::memory_order_release);
    }
}

}  // namespace flameprobe
