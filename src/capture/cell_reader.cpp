#include "capture/cell_reader.hpp"

#include <algorithm>

#include "cpu/left_system_call.hpp"

namespace flameprobe {

bool CellReader::any() const {
    for (std::uint32_t i = 0; i < state_.pool.count(); ++i)
        if (state_.pool.full(i)) return true;
    return false;
}

std::size_t CellReader::gather() {
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

TimeSample CellReader::sample(std::size_t i) const {
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

std::vector<std::uint32_t> CellReader::threads(std::size_t gathered) const {
    std::vector<std::uint32_t> tids;
    for (std::size_t i = 0; i < gathered; ++i) tids.push_back(cell(i).tid);
    std::sort(tids.begin(), tids.end());
    tids.erase(std::unique(tids.begin(), tids.end()), tids.end());
    return tids;
}

}  // namespace flameprobe
