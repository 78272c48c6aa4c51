// Single instructions of A64 (Arm Architecture Reference Manual for A-profile, C6.2), as far as a walk needs them.
#pragma once

#include <cstdint>
#include <span>

#include "base/self_memory.hpp"

namespace flameprobe::a64 {

inline constexpr std::uint32_t ret = 0xd65f03c0, retaa = 0xd65f0bff, retab = 0xd65f0fff, svc_0 = 0xd4000001,
                               nop = 0xd503201f, bti_c = 0xd503245f, paciasp = 0xd503233f, pacibsp = 0xd503237f,
                               autiasp = 0xd50323bf, autibsp = 0xd50323ff, autia1716 = 0xd503219f;

/// 0, which is no instruction, where nothing can be read.
inline std::uint32_t at(std::uint64_t address) noexcept {
    std::uint32_t instruction = 0;
    const auto bytes = std::as_writable_bytes(std::span(&instruction, 1));
    return read_self(address, bytes) == bytes.size() ? instruction : 0;
}

inline bool is_return(std::uint32_t instruction) {
    return instruction == ret || instruction == retaa || instruction == retab;
}
/// Hints that guard a function's entry or end and change nothing that a walk needs.
inline bool is_guard(std::uint32_t instruction) {
    return instruction == bti_c || instruction == paciasp || instruction == pacibsp || instruction == autiasp ||
           instruction == autibsp || instruction == nop;
}
/// stp x29, x30, [sp, #-N]!
inline bool pushes_record(std::uint32_t instruction) { return (instruction & 0xffc07fff) == 0xa9807bfd; }
/// stp x29, x30, [sp, #N], in a frame that a `sub sp` has made.
inline bool stores_record(std::uint32_t instruction) { return (instruction & 0xffc07fff) == 0xa9007bfd; }
/// mov x29, sp or add x29, sp, #N
inline bool sets_frame_pointer(std::uint32_t instruction) { return (instruction & 0xff8003ff) == 0x910003fd; }

/// add or sub sp, sp, #N: what it adds; 0 for anything else.
inline std::int64_t moved_sp(std::uint32_t instruction) {
    const bool adds = (instruction & 0xff8003ff) == 0x910003ff, subtracts = (instruction & 0xff8003ff) == 0xd10003ff;
    if (!adds && !subtracts) return 0;
    const std::int64_t amount = std::int64_t{instruction >> 10 & 0xfff} << ((instruction >> 22 & 1) * 12);
    return adds ? amount : -amount;
}

/// The signed value of `bits` bits of the instruction from `low` on.
inline std::int64_t signed_field(std::uint32_t instruction, unsigned low, unsigned bits) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(instruction) << (64 - low - bits)) >>
           static_cast<int>(64 - bits);
}

/// Bytes that a load or store adds to SP by writing its address back; 0 for one that leaves SP alone.
inline std::int64_t written_back_to_sp(std::uint32_t instruction) {
    if ((instruction >> 5 & 31) != 31) return 0;
    if ((instruction & 0x3a800000) == 0x28800000) {  // ldp, stp; bit 26: of vector registers
        const unsigned size = instruction >> 30;
        const unsigned bytes = (instruction >> 26 & 1) != 0 ? 4U << size : (size == 2 ? 8 : 4);
        return signed_field(instruction, 15, 7) * bytes;
    }
    return (instruction & 0x3b200400) == 0x38000400 ? signed_field(instruction, 12, 9) : 0;  // ldr, str
}

/// The 26-bit word offset of B and BL.
inline std::uint64_t branch_target(std::uint64_t address, std::uint32_t instruction) {
    return address + static_cast<std::uint64_t>(signed_field(instruction, 0, 26) * 4);
}

/// adrp x16, page
inline bool is_adrp_x16(std::uint32_t instruction) { return (instruction & 0x9f00001f) == 0x90000010; }
/// ldr x17, [x16, #N]
inline bool loads_x17(std::uint32_t instruction) { return (instruction & 0xffc003ff) == 0xf9400211; }
/// add x16, x16, #N
inline bool adds_x16(std::uint32_t instruction) { return (instruction & 0xff8003ff) == 0x91000210; }
inline constexpr std::uint32_t br_x17 = 0xd61f0220;

/// Where `adrp x16` at `address` and the `ldr x17` after it read.
inline std::uint64_t plt_slot(std::uint64_t address, std::uint32_t adrp, std::uint32_t load) {
    const std::int64_t pages = signed_field(adrp, 5, 19) * 4 + (adrp >> 29 & 3);
    return (address & ~std::uint64_t{4095}) + static_cast<std::uint64_t>(pages * 4096) + (load >> 10 & 0xfff) * 8;
}

}  // namespace flameprobe::a64
