// The memory that this library shares with the collector.
#pragma once

#include <stdint.h>

#include "capture/alloc/state.hpp"

namespace flameprobe::alloc {

/// Made at the first call, and again in a forked child, where it is empty; null if there is none, or another thread is
/// making it.
State* ready_state() noexcept;
/// The vdso's, once it is known.
void use_clock(handler::State::ClockFunction clock) noexcept;
uint64_t now_ns(const State& state) noexcept;

/// See Table::go_silent.
void go_silent() noexcept;

/// A record that no thread has, which the caller now owns; null if all are in use.
Record* claim_record(State& state, uint32_t tid) noexcept;
void give_back_record(State& state, Record* record) noexcept;

}  // namespace flameprobe::alloc
