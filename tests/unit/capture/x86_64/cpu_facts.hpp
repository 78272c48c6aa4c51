// What tests of sampling must know of the CPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace flameprobe::test {

/// A function that counts its argument down to zero: dec %rdi; jnz; ret.
inline constexpr std::array<std::uint8_t, 6> count_down{0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};

/// syscall
inline constexpr std::array<std::byte, 2> system_call_instruction{std::byte{0x0f}, std::byte{0x05}};

/// perf's numbers of rbp, rsp and rip.
inline constexpr std::uint64_t perf_fp = 6, perf_sp = 7, perf_pc = 8;
/// rbx, by DWARF's number and by perf's: one that differs.
inline constexpr std::uint64_t dwarf_other = 3, perf_other = 1;

}  // namespace flameprobe::test
