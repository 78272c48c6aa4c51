// Code that assembly_subjects.cpp makes at run time.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace flameprobe::testing {

// outer: stp x29, x30, [sp, #-32]!; mov x29, sp; str x0, [sp, #16]; bl inner; ldr x1, [sp, #16]; blr x1;
//        ldp x29, x30, [sp], #32; ret
// inner: stp x29, x30, [sp, #-16]!; mov x29, sp; mov x0, #0; nop; ldp x29, x30, [sp], #16; ret
inline constexpr std::array<std::uint32_t, 14> machine_code{0xa9be7bfd, 0x910003fd, 0xf9000be0, 0x94000005, 0xf9400be1,
                                                            0xd63f0020, 0xa8c27bfd, 0xd65f03c0, 0xa9bf7bfd, 0x910003fd,
                                                            0xd2800000, 0xd503201f, 0xa8c17bfd, 0xd65f03c0};

// str x30, [sp, #-16]!; blr x0; ldr x30, [sp], #16; ret. And one that keeps registers: stp x29, x30, [sp, #-32]!;
// str x19, [sp, #16]; sub sp, sp, #1024; blr x0; add sp, sp, #1024; ldr x19, [sp, #16]; ldp x29, x30, [sp], #32; ret
inline constexpr std::array<std::uint32_t, 4> trampoline{0xf81f0ffe, 0xd63f0000, 0xf84107fe, 0xd65f03c0};
inline constexpr std::array<std::uint32_t, 8> keeper{0xa9be7bfd, 0xf9000bf3, 0xd11003ff, 0xd63f0000,
                                                     0x911003ff, 0xf9400bf3, 0xa8c27bfd, 0xd65f03c0};

/// Of assembly_with_debug_frame: the bytes of the instruction that stores the frame pointer, and CFA - SP behind it.
inline constexpr std::uint64_t push_bytes = 4;
inline constexpr std::int32_t cfa_behind_push = 80;
/// Whether the kernel's vdso has unwind tables for all of its code.
inline constexpr bool vdso_has_tables = false;

/// Writes a direct call of `target`, at most 100 MiB away. Gives the address behind it.
inline std::uint64_t write_call(std::uint8_t* at, std::uint64_t target) {
    const auto here = reinterpret_cast<std::uint64_t>(at);
    const std::uint32_t bl = 0x94000000 | (static_cast<std::uint32_t>((target - here) >> 2) & 0x03ffffff);
    std::memcpy(at, &bl, sizeof bl);
    return here + sizeof bl;
}

}  // namespace flameprobe::testing
