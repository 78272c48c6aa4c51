// Durations as cells of a histogram whose cells grow with what they hold, as HdrHistogram has them: 128 in each power
// of two, so that a cell is at most 0.8 % of its durations wide, and what is said of its middle is right within 0.4 %.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace flameprobe {

inline constexpr unsigned duration_cell_bits = 7;
/// The last one begins at 18 minutes, and holds all that is longer.
inline constexpr std::size_t duration_cells = 4352;

constexpr std::size_t duration_cell(std::uint64_t ns) noexcept {
    const auto bits = static_cast<unsigned>(std::bit_width(ns));
    const unsigned shift = bits > duration_cell_bits + 1 ? bits - duration_cell_bits - 1 : 0;
    return std::min<std::size_t>((std::size_t{shift} << duration_cell_bits) + (ns >> shift), duration_cells - 1);
}

/// The shortest duration of a cell.
constexpr std::uint64_t begin_of_duration_cell(std::size_t cell) noexcept {
    constexpr std::size_t half = std::size_t{1} << duration_cell_bits;
    if (cell < 2 * half) return cell;
    const std::size_t shift = (cell >> duration_cell_bits) - 1;
    return std::uint64_t{cell - (shift << duration_cell_bits)} << shift;
}

constexpr std::uint64_t middle_of_duration_cell(std::size_t cell) noexcept {
    const std::uint64_t begin = begin_of_duration_cell(cell);
    return begin + (begin_of_duration_cell(cell + 1) - begin) / 2;
}

}  // namespace flameprobe
