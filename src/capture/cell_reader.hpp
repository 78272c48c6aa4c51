#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/proc.hpp"
#include "capture/handler/state.hpp"
#include "capture/record.hpp"

namespace flameprobe {

/// Takes samples out of the handlers' pool in order of time. Collector thread only.
class CellReader {
public:
    explicit CellReader(handler::State& state) : state_(state) {}

    /// Whether gather() would find a sample.
    bool any() const;
    /// Gathers the samples that are complete now; gives how many.
    std::size_t gather();
    /// The gathered samples, oldest first. Each must be given back once.
    const handler::CellHead& cell(std::size_t i) const { return *state_.pool.head(order_[i]); }
    TimeSample sample(std::size_t i) const;
    /// The threads of the gathered samples: tids, in order, each once.
    std::vector<std::uint32_t> threads(std::size_t gathered) const;
    void give_back(std::size_t i) { state_.pool.release(order_[i]); }
    /// The most cells that were in use so far: the lowest free one is taken first.
    std::uint32_t most_cells() const { return most_cells_; }

private:
    handler::State& state_;
    std::vector<std::uint32_t> order_;
    std::uint32_t most_cells_ = 0;
};

/// Forbids the handler its one system call (process_vm_readv) as soon as the main thread is seen to have entered a
/// filter, since a filter may kill for it. Not for the filters that this thread has too, as everything in a
/// container: the session has tried that they do not kill (sandbox/host_restrictions.hpp). Collector thread only.
class SystemCallWatch {
public:
    /// Reads the main thread's state in /proc, at most every 50 ms, and does nothing once the call is forbidden.
    void look(handler::State& state, std::uint64_t now_ns) {
        if (now_ns < next_ns_ || !state.may_call.load(std::memory_order_relaxed)) return;
        if (next_ns_ == 0) own_ = filters("/proc/thread-self/status");
        next_ns_ = now_ns + 50'000'000;
        const int now = filters("/proc/self/status");  // of the main thread
        if (now == unknown_filters || now > own_) state.may_call.store(false, std::memory_order_relaxed);
    }

private:
    static int filters(const char* status) { return filters_in_force(read_small_file(status).value_or("")); }

    int own_ = 0;  // filters in force for the collector
    std::uint64_t next_ns_ = 0;
};

}  // namespace flameprobe
