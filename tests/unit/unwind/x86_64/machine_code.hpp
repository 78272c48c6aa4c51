// Code that assembly_subjects.cpp makes at run time.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace flameprobe::testing {

// outer: push %rbp; mov %rsp,%rbp; sub $16,%rsp; mov %rdi,(%rsp); call inner; call *(%rsp); leave; ret
// inner: push %rbp; mov %rsp,%rbp; xor %eax,%eax; nop; pop %rbp; ret
inline constexpr std::array<std::uint8_t, 33> machine_code{
    0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0x3c, 0x24,  // up to mov
    0xe8, 0x05, 0x00, 0x00, 0x00, 0xff, 0x14, 0x24, 0xc9, 0xc3,              // up to ret
    0x55, 0x48, 0x89, 0xe5, 0x31, 0xc0, 0x90, 0x5d, 0xc3, 0x90, 0x90};

// As Python 3.12's: sub $8,%rsp; call *%rdi; add $8,%rsp; ret. And one that keeps registers: push %rbp; push %rbx;
// sub $1032,%rsp; call *%rdi; add $1032,%rsp; pop %rbx; pop %rbp; ret
inline constexpr std::array<std::uint8_t, 11> trampoline{0x48, 0x83, 0xec, 0x08, 0xff, 0xd7,
                                                         0x48, 0x83, 0xc4, 0x08, 0xc3};
inline constexpr std::array<std::uint8_t, 21> keeper{0x55, 0x53, 0x48, 0x81, 0xec, 0x08, 0x04, 0x00, 0x00, 0xff, 0xd7,
                                                     0x48, 0x81, 0xc4, 0x08, 0x04, 0x00, 0x00, 0x5b, 0x5d, 0xc3};

/// Of assembly_with_debug_frame: the bytes of the instruction that stores the frame pointer, and CFA - SP behind it.
inline constexpr std::uint64_t push_bytes = 1;
inline constexpr std::int32_t cfa_behind_push = 16;
/// Whether the kernel's vdso has unwind tables for all of its code.
inline constexpr bool vdso_has_tables = true;

/// Writes a direct call of `target`, at most 100 MiB away. Gives the address behind it.
inline std::uint64_t write_call(std::uint8_t* at, std::uint64_t target) {
    const auto behind = reinterpret_cast<std::uint64_t>(at) + 5;
    const auto distance = static_cast<std::int32_t>(target - behind);
    *at = 0xe8;
    std::memcpy(at + 1, &distance, sizeof distance);
    return behind;
}

}  // namespace flameprobe::testing
