// The registers of a sample, and what perf samples of them (arch/x86/include/uapi/asm/perf_regs.h), and in which order.
#pragma once

#include <array>
#include <cstdint>

#include "arch/x86_64/walk_facts.hpp"

namespace flameprobe {

using Arch = ArchX86_64;

/// DWARF's (psABI, figure 3.36): 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp, 8-15 r8-r15, 16 the return
/// address column, which in a sample holds the pc.
struct RegisterNumbers {
    static constexpr unsigned frame_pointer = Arch::fp, stack_pointer = Arch::sp, pc_column = 16, count = 17;
};

/// rax to rip without flags and segments, and r8 to r15.
inline constexpr std::uint64_t sampled_registers = 0x1ff | (0xffULL << 16);

/// DWARF's numbers in perf's order: ax bx cx dx si di bp sp ip, r8..r15.
inline constexpr std::array<unsigned, RegisterNumbers::count> perf_to_dwarf = {0, 3, 2,  1,  4,  5,  6,  7, 16,
                                                                               8, 9, 10, 11, 12, 13, 14, 15};

}  // namespace flameprobe
