// The state of the thread that a signal handler interrupts. Async-signal-safe.
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "base/registers.hpp"

namespace flameprobe::cpu {

inline std::uint64_t interrupted_pc(const ucontext_t& context) noexcept { return context.uc_mcontext.pc; }

/// In DWARF's order. Never false: 32-bit code (PSTATE.nRW) runs in processes of its own.
inline bool copy_registers(const ucontext_t& context, Registers& out) noexcept {
    for (unsigned i = 0; i < 31; ++i) out.value[i] = context.uc_mcontext.regs[i];
    out.value[Registers::stack_pointer] = context.uc_mcontext.sp;
    out.value[Registers::pc_column] = context.uc_mcontext.pc;
    return true;
}

/// A tick in the kernel signals when the thread leaves it. No register shows that for certain: the number of the call
/// is still in x8, but another small number may be there too. left_system_call() decides.
inline bool may_leave_system_call(const ucontext_t& context) noexcept {
    constexpr std::uint64_t numbers = 1024, number_register = 8;
    return context.uc_mcontext.regs[number_register] < numbers;
}

/// The calling function's own registers, with which a walk begins there: those that calls preserve, sp and pc.
[[gnu::always_inline]] inline void own_registers(Registers& out) noexcept {
    asm volatile(
        "stp x19, x20, [%0, #152]\n stp x21, x22, [%0, #168]\n stp x23, x24, [%0, #184]\n"
        "stp x25, x26, [%0, #200]\n stp x27, x28, [%0, #216]\n stp x29, x30, [%0, #232]\n"
        "mov x9, sp\n adr x10, 1f\n 1: stp x9, x10, [%0, #248]\n"
        :
        : "r"(out.value.data())
        : "x9", "x10", "memory");
}

}  // namespace flameprobe::cpu
