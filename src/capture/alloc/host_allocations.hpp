// The way to libflameprobe-alloc.so, if the host has it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/proc_maps.hpp"
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

/// As alloc::Exempted, by the core.
struct Exempt : Exempted {
    Exempt() noexcept : Exempted(table()) {}
};

/// What all threads have allocated since the process began.
struct Totals {
    std::uint64_t bytes = 0, calls = 0;
};
Totals read_totals(const State& state) noexcept;

/// The collector thread only.
class ThreadStacks {
public:
    explicit ThreadStacks(State& state) : state_(state) {}

    /// To be called with each sample.
    void sampled(const handler::CellHead& cell);
    /// Looks for the stacks of the threads that were sampled without one, at most in 1 % of the time.
    void find(std::uint64_t now_ns);

private:
    struct Wanted {
        std::uint32_t record, claim;
        bool is_main;
        bool operator==(const Wanted&) const = default;
    };
    void tell(const Wanted& wanted, const ProcMaps& maps);

    State& state_;
    std::vector<Wanted> wanted_;
    std::uint64_t next_ns_ = 0;
};

}  // namespace flameprobe::alloc
