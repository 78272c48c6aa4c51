// What single_step.cpp must know of the CPU to recognise calls.
#pragma once

#include <sys/user.h>

#include <cstring>

#include "../live_map.hpp"

namespace flameprobe::testing {

inline Registers to_registers(const user_regs_struct& from) {
    Registers out;
    out.value = {from.rax, from.rdx, from.rcx, from.rbx, from.rsi, from.rdi, from.rbp, from.rsp, from.r8,
                 from.r9,  from.r10, from.r11, from.r12, from.r13, from.r14, from.r15, from.rip};
    return out;
}

/// The return address of the function at whose first instruction the thread has stopped.
inline std::uint64_t return_address(const Snapshot& at_entry) {
    std::uint64_t word = 0;
    if (at_entry.stack.size() >= sizeof word) std::memcpy(&word, at_entry.stack.data(), sizeof word);
    return word;
}

/// A call is what pushes the address of the instruction behind itself and goes elsewhere.
inline bool is_call(const Registers& before, const Snapshot& now) {
    const std::uint64_t pushed = return_address(now);
    return now.registers.sp() == before.sp() - 8 && pushed - before.pc() - 1 < 15 && now.registers.pc() != pushed;
}

}  // namespace flameprobe::testing
