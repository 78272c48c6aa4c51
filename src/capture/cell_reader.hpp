#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/proc.hpp"
#include "capture/handler/state.hpp"
#include "capture/record.hpp"
#include "cpu/signal_frame.hpp"

namespace flameprobe {

/// Takes samples out of the handlers' pool in order of time. Collector thread only.
class CellReader {
public:
    explicit CellReader(handler::State& state) : state_(state) {}

    bool any() const {
        for (std::uint32_t i = 0; i < state_.pool.count(); ++i)
            if (state_.pool.full(i)) return true;
        return false;
    }
    /// Gathers the samples that are complete now; gives how many.
    std::size_t gather() {
        order_.clear();
        auto& pool = state_.pool;
        for (std::uint32_t i = 0; i < pool.count(); ++i) {
            if (pool.full(i)) order_.push_back(i);
        }
        if (!order_.empty()) most_cells_ = std::max(most_cells_, order_.back() + 1);
        std::sort(order_.begin(), order_.end(),
                  [&pool](std::uint32_t a, std::uint32_t b) { return pool.head(a)->time_ns < pool.head(b)->time_ns; });
        return order_.size();
    }
    /// The gathered samples, oldest first. Each must be given back once.
    const handler::CellHead& cell(std::size_t i) const { return *state_.pool.head(order_[i]); }
    TimeSample sample(std::size_t i) const {
        handler::CellHead* const cell = state_.pool.head(order_[i]);
        return {{.time_ns = cell->time_ns,
                 .pid = static_cast<std::uint32_t>(state_.pid),
                 .tid = cell->tid,
                 .weight = cell->weight,
                 .has_registers = cell->has_registers,
                 .registers = cell->registers,
                 .kernel_chain = {},
                 .stack = {handler::SamplePool::stack(cell), cell->stack_bytes}},
                cell->in_system_call && cpu::left_system_call(cell->registers)};
    }
    /// The threads of the gathered samples: tids, in order, each once.
    std::vector<std::uint32_t> threads(std::size_t gathered) const {
        std::vector<std::uint32_t> tids;
        for (std::size_t i = 0; i < gathered; ++i) tids.push_back(cell(i).tid);
        std::sort(tids.begin(), tids.end());
        tids.erase(std::unique(tids.begin(), tids.end()), tids.end());
        return tids;
    }
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
        const int now = filters("/proc/self/status");  // of the main thread
        if (next_ns_ == 0 && now != 0) own_ = filters("/proc/thread-self/status");
        next_ns_ = now_ns + 50'000'000;
        if (now == unknown_filters || now > own_) state.may_call.store(false, std::memory_order_relaxed);
    }

private:
    static int filters(const char* status) { return filters_in_force(read_small_file(status).value_or("")); }

    int own_ = 0;  // filters in force for the collector
    std::uint64_t next_ns_ = 0;
};

}  // namespace flameprobe
