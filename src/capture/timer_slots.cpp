#include "capture/timer_slots.hpp"

#include <algorithm>

#include "base/host_process.hpp"
#include "capture/handler/handler.hpp"
#include "capture/signal_choice.hpp"

namespace flameprobe {

std::uint64_t tick_ns() {
    timespec resolution{};
    // The coarse clock is set by the tick (kernel/time/posix-timers.c, posix_get_coarse_res).
    if (::clock_getres(CLOCK_MONOTONIC_COARSE, &resolution) != 0 || resolution.tv_nsec == 0) return 4 * ns_per_ms;
    return static_cast<std::uint64_t>(resolution.tv_nsec);
}

TimerSlots::TimerSlots(handler::State& state) : state_(state), self_(own_tid()) {}

// In a forked child the state reads as zeros, so no slot is owned and no timer is deleted: the same ids may be those of
// the child's own timers.
void TimerSlots::stop() {
    for (std::size_t i = 0; i < size(); ++i) {
        if (owner(i) != 0 && ready(i)) handler::delete_timer(state_, (*this)[i]);
    }
}

// A reading of the list that finds no new thread proves that none was missed. Without /proc only the main thread is
// known, and threads that attach themselves.
void TimerSlots::attach_running(const std::function<bool(std::size_t)>& ended) {
    for (bool found = true; found;) {
        found = false;
        if (!tasks_.read(tids_)) tids_.assign(1, static_cast<std::uint32_t>(state_.pid));
        attached_.clear();
        without_slot_ = 0;
        for (std::size_t i = 0; i < size(); ++i) {
            const std::uint32_t tid = owner(i);
            if (tid != 0 && !ended(i)) attached_.push_back(tid);
        }
        std::sort(attached_.begin(), attached_.end());
        for (const std::uint32_t tid : tids_) {
            if (tid == self_ || std::binary_search(attached_.begin(), attached_.end(), tid)) continue;
            found |= attach(tid);
        }
    }
    count_timers();
}

void TimerSlots::count_timers() {
    with_timer_ = 0;
    without_timer_ = without_slot_;
    for (std::size_t i = 0; i < size(); ++i) {
        if (owner(i) == 0 || !ready(i) || (*this)[i].duplicate) continue;
        if ((*this)[i].timer >= 0)
            ++with_timer_;
        else if (cpu_time(owner(i)))  // not for one that has ended
            ++without_timer_;
    }
}

bool TimerSlots::attach(std::uint32_t tid) {
    const auto cpu = cpu_time(tid);
    if (!cpu) return false;
    const std::uint32_t index = handler::claim_slot(state_, tid);
    if (index == state_.slot_count) {
        ++without_slot_;
        return false;
    }
    handler::ThreadSlot& slot = (*this)[index];
    slot.masked = blocks_our_signal(tid);
    slot.attached_ns = *cpu;
    handler::map_alternate_stack(state_, slot);
    if (handler::make_timer(state_, index) == 0 && !slot.masked) arm(index, *cpu);
    slot.ready.store(1, std::memory_order_release);
    return true;
}

void TimerSlots::arm(std::size_t index, std::uint64_t cpu_ns) {
    (*this)[index].weight = {};
    (*this)[index].noticed_ns.store(cpu_ns, std::memory_order_relaxed);
    handler::arm_timer(state_, (*this)[index], true);
}

TimerSlots::Blocking TimerSlots::blocking(std::uint32_t tid) const {
    const auto status = tasks_.file(tid, "status");
    if (!status || !blocks_signal(*status, state_.signal)) return Blocking::no;
    return status->find("\nState:\tS") != std::string::npos ? Blocking::yes : Blocking::yes_or_in_handler;
}

bool TimerSlots::runs_in_kernel(std::uint32_t tid) const {
    const auto stat = tasks_.file(tid, "stat");
    return stat && flameprobe::runs_in_kernel(*stat);
}

void TimerSlots::free(std::size_t index) {
    handler::delete_timer(state_, (*this)[index]);
    ++(*this)[index].generation;
    (*this)[index].ready.store(0, std::memory_order_relaxed);
    // Release: partner of the acquire in claim_slot.
    state_.owners[index].store(0, std::memory_order_release);
    std::uint32_t hint = state_.hint.load(std::memory_order_relaxed);
    while (index < hint &&
           !state_.hint.compare_exchange_weak(hint, static_cast<std::uint32_t>(index), std::memory_order_relaxed)) {
    }
}

}  // namespace flameprobe
