// The way to libflameprobe-alloc.so, if the host has it.
#pragma once

#include <cstdint>

#include "capture/alloc/state.hpp"

namespace flameprobe::alloc {

/// Once, before there is a collector.
void use_table(const Table* table) noexcept;
/// Null: the host's allocations are not counted.
const Table* table() noexcept;
/// Null also where there is no memory for it.
State* host_state() noexcept;

/// The calling thread is about to enter a filter of system calls: no sample makes one from now on. Async-signal-safe.
void expect_filter() noexcept;

/// Whether samples wait for a collector. Async-signal-safe.
bool any_unattended() noexcept;

/// What the calling thread allocates while it lives is ours, and does not count as the host's.
class Exempt {
public:
    Exempt() noexcept {
        if (table() != nullptr) table()->exempt(1);
    }
    ~Exempt() {
        if (table() != nullptr) table()->exempt(0);
    }
    Exempt(const Exempt&) = delete;
};

/// What all threads have allocated since the process began.
struct Totals {
    std::uint64_t bytes = 0, calls = 0;
};
Totals read_totals(const State& state) noexcept;

}  // namespace flameprobe::alloc
