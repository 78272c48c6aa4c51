#pragma once

#include <cstdint>
#include <vector>

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

}  // namespace flameprobe
