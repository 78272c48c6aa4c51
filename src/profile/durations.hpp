// How long the requests of one label took: all of them, as read from a profile's records.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>

#include "base/duration_cells.hpp"
#include "profile/model.hpp"

namespace flameprobe {

struct Durations {
    std::map<std::uint32_t, std::uint64_t> cells;  // how many requests a duration_cell has; none has 0
    std::uint64_t failed = 0, sum_ns = 0, longest_ns = 0;
    std::uint64_t unseen = 0;  // see RequestTimes
    std::uint64_t coarse = 0;  // of them, those whose passings are not kept

    void add(const RequestTimes& times) {
        std::uint64_t cell = 0, all = 0;
        for (std::size_t at = 0; at + 1 < times.cells.size(); at += 2) {
            cell = add_saturated(cell, times.cells[at]);
            if (cell >= duration_cells) break;
            std::uint64_t& sum = cells[static_cast<std::uint32_t>(cell)];
            sum = add_saturated(sum, times.cells[at + 1]);
            all = add_saturated(all, times.cells[at + 1]);
        }
        add_sums(times.failed, times.sum_ns, times.longest_ns, times.unseen, times.coarse ? all : 0);
    }
    void add(const Durations& more) {
        for (const auto& [cell, count] : more.cells) cells[cell] = add_saturated(cells[cell], count);
        add_sums(more.failed, more.sum_ns, more.longest_ns, more.unseen, more.coarse);
    }

    /// As a record that is put together from several.
    RequestTimes record(std::uint64_t time_ns, const std::string& label) const {
        RequestTimes times{time_ns, label, failed, sum_ns, longest_ns, unseen, {}, true};
        std::uint32_t last = 0;
        for (const auto& [cell, count] : cells) {
            times.cells.insert(times.cells.end(), {cell - last, count});
            last = cell;
        }
        return times;
    }

    std::uint64_t count() const {
        std::uint64_t all = 0;
        for (const auto& [cell, count] : cells) all = add_saturated(all, count);
        return all;
    }
    /// The cell of the request that is longer than `part` of all; 0 if there is none.
    std::uint32_t cell_at(double part) const {
        const auto rank = static_cast<std::uint64_t>(std::ceil(part * static_cast<double>(count())));
        std::uint64_t below = 0;
        for (const auto& [cell, count] : cells)
            if ((below = add_saturated(below, count)) >= rank) return cell;
        return 0;
    }
    /// Its duration, right within 0.4 %.
    std::uint64_t at(double part) const {
        return cells.empty() ? 0 : std::min(middle_of_duration_cell(cell_at(part)), longest_ns);
    }

private:
    void add_sums(std::uint64_t more_failed, std::uint64_t more_ns, std::uint64_t longest, std::uint64_t more_unseen,
                  std::uint64_t more_coarse) {
        failed = add_saturated(failed, more_failed);
        sum_ns = add_saturated(sum_ns, more_ns);
        longest_ns = std::max(longest_ns, longest);
        unseen = add_saturated(unseen, more_unseen);
        coarse = add_saturated(coarse, more_coarse);
    }
};

/// By label.
using RequestDurations = std::map<std::string, Durations>;

}  // namespace flameprobe
