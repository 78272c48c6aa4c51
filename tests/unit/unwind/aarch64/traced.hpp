// What single_step.cpp must know of the CPU to recognise calls.
#pragma once

#include <sys/user.h>

#include <algorithm>

#include "../live_map.hpp"
#include "arch/aarch64/instruction.hpp"

namespace flameprobe::testing {

inline Registers to_registers(const user_regs_struct& from) {
    Registers out;
    std::copy(std::begin(from.regs), std::end(from.regs), out.value.begin());
    out.value[Registers::stack_pointer] = from.sp;
    out.value[Registers::pc_column] = from.pc;
    return out;
}

/// The return address of the function at whose first instruction the thread has stopped.
inline std::uint64_t return_address(const Snapshot& at_entry) {
    constexpr unsigned link_register = 30;
    return at_entry.registers.value[link_register];
}

/// x30 may have the address behind the instruction from the call before, so the instruction itself is read, from the
/// same place in this process.
inline bool is_call(const Registers& before, const Snapshot& now) {
    const std::uint32_t instruction = a64::at(before.pc());
    const bool direct = (instruction & 0xfc000000) == 0x94000000, indirect = (instruction & 0xfffffc1f) == 0xd63f0000;
    return (direct || indirect) && return_address(now) == before.pc() + 4;
}

}  // namespace flameprobe::testing
