// What perf samples of the registers (arch/x86/include/uapi/asm/perf_regs.h), and in which order.
#pragma once

#include <array>
#include <cstdint>

#include "base/registers.hpp"

namespace flameprobe {

/// rax to rip without flags and segments, and r8 to r15.
inline constexpr std::uint64_t sampled_registers = 0x1ff | (0xffULL << 16);

/// DWARF's numbers in perf's order: ax bx cx dx si di bp sp ip, r8..r15.
inline constexpr std::array<unsigned, Registers::count> perf_to_dwarf = {0, 3, 2,  1,  4,  5,  6,  7, 16,
                                                                         8, 9, 10, 11, 12, 13, 14, 15};

}  // namespace flameprobe
