// Slots, timers and alternate stacks of threads: made by the collector for threads it finds, or by a new thread for
// itself (hooks.hpp). All async-signal-safe.
#pragma once

#include <cstdint>

#include "capture/handler/state.hpp"

namespace flameprobe::handler {

/// Claims a slot for `tid`. Gives its index, or slot_count where the table is full. Its fields are then the caller's
/// until it stores `ready`.
std::uint32_t claim_slot(State& state, std::uint32_t tid) noexcept;
/// Reads the limit of pending signals, which the host may have changed, and how many of them are ours.
void read_timer_limit(State& state) noexcept;
/// timer_create for the CPU clock of the slot's thread; the timer is not armed. Gives 0 or an error number:
/// EAGAIN if the rest is the host's.
int make_timer(State& state, std::uint32_t slot) noexcept;
/// From now on each tick that hits the thread is noticed, or none. Once the signal was yielded to the host no timer is
/// armed. Gives 0 or an error number.
int arm_timer(const State& state, const ThreadSlot& slot, bool on) noexcept;
void delete_timer(State& state, ThreadSlot& slot) noexcept;
/// Maps an alternate stack for the slot unless it has one from an earlier thread.
void map_alternate_stack(const State& state, ThreadSlot& slot) noexcept;

}  // namespace flameprobe::handler
