#include "capture/thread_timers.hpp"

#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "capture/handler/attach.hpp"
#include "capture/handler/raw_system_call.hpp"
#include "capture/signal_choice.hpp"
#include "capture/thread_clock.hpp"

namespace flameprobe {
namespace {

constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint64_t millisecond = 1'000'000;

}  // namespace

std::uint64_t tick_ns() {
    timespec resolution{};
    // The coarse clock is set by the tick (kernel/time/posix-timers.c, posix_get_coarse_res).
    if (::clock_getres(CLOCK_MONOTONIC_COARSE, &resolution) != 0 || resolution.tv_nsec == 0) return 4 * millisecond;
    return static_cast<std::uint64_t>(resolution.tv_nsec);
}

ThreadTimers::ThreadTimers(handler::State& state)
    : state_(state), self_(static_cast<std::uint32_t>(handler::system_call(SYS_gettid))), tick_ns_(tick_ns()) {}

// In a forked child the state reads as zeros: no slot is owned and no timer is touched, which may be the child's own.
ThreadTimers::~ThreadTimers() { stop(); }

void ThreadTimers::start() {
    for (std::size_t i = 0; i < records_.size(); ++i) {
        Record& record = records_[i];
        if (record.tid == 0 || record.duplicate) continue;
        const auto cpu = cpu_time(record.tid);
        if (!cpu || *cpu < record.cpu_ns) {
            record.ended = true;
            continue;
        }
        record.cpu_ns = *cpu;
        record.masked = blocks_our_signal(record.tid);
        if (slot(i).timer < 0) handler::make_timer(state_, static_cast<std::uint32_t>(i));
        if (!record.masked) arm(i, *cpu);
    }
    scan_tasks();
}

void ThreadTimers::stop() {
    for (std::size_t i = 0; i < state_.slot_count; ++i) {
        if (state_.owners[i].load(std::memory_order_acquire) != 0 &&
            slot(i).ready.load(std::memory_order_acquire) != 0) {
            handler::delete_timer(slot(i));
        }
    }
}

// Two readings in a row without a new thread prove that no thread was missed in between. Without /proc the main thread
// is known, and threads that attach themselves.
void ThreadTimers::scan_tasks() {
    for (bool found = true; found;) {
        found = false;
        if (!tasks_.read(tids_)) tids_.assign(1, static_cast<std::uint32_t>(state_.pid));
        covered_.clear();
        without_slot_ = 0;
        for (std::size_t i = 0; i < state_.slot_count; ++i) {
            const std::uint32_t owner = state_.owners[i].load(std::memory_order_acquire);
            const bool ended = i < records_.size() && records_[i].ended;
            if (owner != 0 && !ended) covered_.push_back(owner);
        }
        std::sort(covered_.begin(), covered_.end());
        for (const std::uint32_t tid : tids_) {
            if (tid == self_ || std::binary_search(covered_.begin(), covered_.end(), tid)) continue;
            found |= attach(tid);
        }
    }
    count_timers();
}

void ThreadTimers::count_timers() {
    with_timer_ = 0;
    without_timer_ = without_slot_;
    for (std::size_t i = 0; i < state_.slot_count; ++i) {
        if (state_.owners[i].load(std::memory_order_acquire) == 0 || slot(i).ready.load(std::memory_order_acquire) == 0)
            continue;
        if (slot(i).timer >= 0)
            ++with_timer_;
        else if (cpu_time(state_.owners[i].load(std::memory_order_relaxed)))  // not for one that has ended
            ++without_timer_;
    }
}

bool ThreadTimers::attach(std::uint32_t tid) {
    const auto cpu = cpu_time(tid);
    if (!cpu) return false;
    const std::uint32_t index = handler::claim_slot(state_, tid);
    if (index == state_.slot_count) {
        ++without_slot_;
        return false;
    }
    slot(index).masked = blocks_our_signal(tid);
    slot(index).attached_ns = *cpu;
    handler::map_alternate_stack(state_, slot(index));
    if (handler::make_timer(state_, index) == 0 && !slot(index).masked) arm(index, *cpu);
    slot(index).ready.store(1, std::memory_order_release);
    return true;
}

// The phase is random for each thread, so that neither the tick nor the host's own rhythm decides what is seen.
void ThreadTimers::arm(std::size_t index, std::uint64_t cpu_ns) {
    if (!state_.timers) return;
    const std::uint64_t period = state_.period_ns;
    const std::uint64_t phase = handler::random_phase(state_, ++random_);
    const std::uint64_t first = cpu_ns < phase ? phase : phase + ((cpu_ns - phase) / period + 1) * period;
    handler::arm_timer(state_, slot(index), first + 1);
    if (index < records_.size()) records_[index].delivered = 0;
}

bool ThreadTimers::blocks_our_signal(std::uint32_t tid) const {
    const auto status = tasks_.file(tid, "status");
    return status && blocks_signal(status->c_str(), state_.signal);
}

void ThreadTimers::find_new(EventSink& sink, std::uint64_t now_ns) {
    const std::size_t running = tasks_.count();
    const bool sampling = state_.sampling.load(std::memory_order_relaxed);
    if (!sampling) {
        // Stopped: only those that came before the stop, whose samples are about to be read.
    } else if (now_ns >= next_scan_ns_ || (running != 0 && running != live_ + 1)) {
        scan_tasks();
        next_scan_ns_ = now_ns + second;
    }
    bool more = false;
    for (std::size_t i = 0; i < state_.slot_count; ++i) {
        if (state_.owners[i].load(std::memory_order_acquire) == 0) continue;
        if (i < records_.size() && records_[i].tid != 0) continue;
        if (slot(i).ready.load(std::memory_order_acquire) == 0) continue;  // being claimed this moment
        take_over(i, sink);
        more = true;
    }
    if (more) drop_duplicates();
}

void ThreadTimers::take_over(std::size_t index, EventSink& sink) {
    if (index >= records_.size()) records_.resize(index + 1);
    const std::uint32_t tid = state_.owners[index].load(std::memory_order_relaxed);
    const bool known =
        std::any_of(records_.begin(), records_.end(), [tid](const Record& r) { return r.tid == tid && !r.ended; });
    Record& record = records_[index] = Record{};
    record.tid = tid;
    record.masked = slot(index).masked;
    record.cpu_ns = slot(index).attached_ns;
    if (!state_.kernel_only)
        record.name = slot(index).name[0] != '\0' ? std::string(slot(index).name) : tasks_.comm(record.tid);
    ++live_;
    if (known) return;  // drop_duplicates decides
    sink.thread_started(record.tid, 0, 0);
    if (!record.name.empty()) sink.thread_name(record.tid, record.name);
}

// A thread may have attached itself while the collector was attaching it.
void ThreadTimers::drop_duplicates() {
    std::vector<std::pair<std::uint32_t, std::size_t>> owned;
    for (std::size_t i = 0; i < records_.size(); ++i) {
        if (records_[i].tid != 0 && !records_[i].ended && !records_[i].duplicate)
            owned.emplace_back(records_[i].tid, i);
    }
    std::sort(owned.begin(), owned.end());
    for (std::size_t i = 1; i < owned.size(); ++i) {
        if (owned[i].first != owned[i - 1].first) continue;
        const bool first_is_ours = !slot(owned[i - 1].second).by_itself;
        const std::size_t drop = first_is_ours ? owned[i - 1].second : owned[i].second;
        handler::delete_timer(slot(drop));
        records_[drop].duplicate = true;
        --live_;
    }
}

std::uint64_t ThreadTimers::account(const handler::CellHead& cell) {
    std::uint64_t weight = cell.weight;
    if (cell.slot >= records_.size() || slot(cell.slot).generation != cell.generation) return weight;
    Record& record = records_[cell.slot];
    if (record.duplicate) return 0;
    // Time in which the signal was blocked has been told of as unsampled: it is not the time of the place that follows.
    if (record.masked) weight = std::min(weight, tick_ns_ / state_.period_ns + 1);
    record.delivered += weight;
    record.sampled += weight;
    // The main thread's stack has grown since its end was looked up.
    if (record.stack_known && is_main(record) && cell.has_registers &&
        cell.registers.sp() < slot(cell.slot).stack_low) {
        record.stack_known = false;
        record.stack_tries = 0;
    }
    return weight;
}

// The timer's phase is random: the first period began before the thread was attached.
std::uint64_t ThreadTimers::short_by(const handler::CellHead& cell) {
    if (cell.slot >= records_.size() || slot(cell.slot).generation != cell.generation) return 0;
    Record& record = records_[cell.slot];
    if (std::exchange(record.sampled_before, true)) return 0;
    const std::uint64_t in_first = slot(cell.slot).first_ns - slot(cell.slot).attached_ns;
    return in_first < state_.period_ns ? state_.period_ns - in_first : 0;
}

void ThreadTimers::free_slot(std::size_t index) {
    handler::delete_timer(slot(index));
    records_[index] = Record{};
    ++slot(index).generation;
    slot(index).ready.store(0, std::memory_order_relaxed);
    // Release: partner of the acquire in claim_slot.
    state_.owners[index].store(0, std::memory_order_release);
    std::uint32_t hint = state_.hint.load(std::memory_order_relaxed);
    while (index < hint &&
           !state_.hint.compare_exchange_weak(hint, static_cast<std::uint32_t>(index), std::memory_order_relaxed)) {
    }
}

}  // namespace flameprobe
