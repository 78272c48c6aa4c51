// The registers of a sample, and what perf samples of them (arch/arm64/include/uapi/asm/perf_regs.h), and in which
// order.
#pragma once

#include <array>
#include <cstdint>

#include "arch/aarch64/walk_facts.hpp"

namespace flameprobe {

using Arch = ArchAarch64;

/// DWARF's ("DWARF for the Arm 64-bit Architecture"): x0 to x30, 31 sp, 32 pc. The kernel's order is the same.
struct RegisterNumbers {
    static constexpr unsigned frame_pointer = Arch::fp, stack_pointer = Arch::sp, pc_column = 32, count = 33;
};

/// x0 to x30, sp, pc.
inline constexpr std::uint64_t sampled_registers = (std::uint64_t{1} << RegisterNumbers::count) - 1;

/// DWARF's numbers in perf's order: the same.
inline constexpr std::array<unsigned, RegisterNumbers::count> perf_to_dwarf = [] {
    std::array<unsigned, RegisterNumbers::count> same{};
    for (unsigned i = 0; i < RegisterNumbers::count; ++i) same[i] = i;
    return same;
}();

}  // namespace flameprobe
