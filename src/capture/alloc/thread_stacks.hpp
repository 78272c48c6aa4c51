// Where the stacks of threads are that allocate: a sample then copies its stack without a system call.
#pragma once

#include <cstdint>
#include <vector>

#include "base/proc_maps.hpp"
#include "capture/alloc/state.hpp"

namespace flameprobe::alloc {

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
