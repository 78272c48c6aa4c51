// What perf samples of the registers (arch/arm64/include/uapi/asm/perf_regs.h), and in which order.
#pragma once

#include <array>
#include <cstdint>

#include "base/registers.hpp"

namespace flameprobe {

/// x0 to x30, sp, pc.
inline constexpr std::uint64_t sampled_registers = (std::uint64_t{1} << Registers::count) - 1;

/// DWARF's numbers in perf's order: the same.
inline constexpr std::array<unsigned, Registers::count> perf_to_dwarf = [] {
    std::array<unsigned, Registers::count> same{};
    for (unsigned i = 0; i < Registers::count; ++i) same[i] = i;
    return same;
}();

}  // namespace flameprobe
