// What tests of sampling must know of the CPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace flameprobe::test {

/// A function that counts its argument down to zero: subs x0, x0, #1; b.ne; ret.
inline constexpr std::array<std::uint32_t, 3> count_down{0xf1000400, 0x54ffffe1, 0xd65f03c0};

/// svc #0
inline constexpr std::array<std::byte, 4> system_call_instruction{std::byte{0x01}, std::byte{0x00}, std::byte{0x00},
                                                                  std::byte{0xd4}};

/// perf's numbers of x29, sp and pc.
inline constexpr std::uint64_t perf_fp = 29, perf_sp = 31, perf_pc = 32;
/// x3, by DWARF's number and by perf's, which are the same.
inline constexpr std::uint64_t dwarf_other = 3, perf_other = 3;

}  // namespace flameprobe::test
