// The state of the thread that a signal handler interrupts. Async-signal-safe.
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "base/registers.hpp"

namespace flameprobe::cpu {

inline std::uint64_t interrupted_pc(const ucontext_t& context) noexcept {
    return static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
}

/// In DWARF's order. False for 32-bit code in a 64-bit process (the USER32_CS selector), which has another stack and
/// other registers.
inline bool copy_registers(const ucontext_t& context, Registers& out) noexcept {
    constexpr int order[Registers::count] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                             REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                             REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    for (unsigned i = 0; i < Registers::count; ++i)
        out.value[i] = static_cast<std::uint64_t>(context.uc_mcontext.gregs[order[i]]);
    constexpr std::uint64_t code_segment_64 = 0x33;
    return (static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_CSGSFS]) & 0xffff) == code_segment_64;
}

/// A tick in the kernel signals when the thread leaves it: at the instruction after `syscall`, or at `syscall` itself
/// if the call is made again. That instruction puts its successor's address into rcx (Intel SDM volume 2, SYSCALL) and
/// the kernel restores both, so code need not be read, which could fault; the next instruction has another rip.
inline bool may_leave_system_call(const ucontext_t& context) noexcept {
    constexpr greg_t syscall_bytes = 2;
    const greg_t after = context.uc_mcontext.gregs[REG_RCX], pc = context.uc_mcontext.gregs[REG_RIP];
    return pc == after || pc + syscall_bytes == after;
}

/// The calling function's own registers, with which a walk begins there: those that calls preserve, sp and pc.
[[gnu::always_inline]] inline void own_registers(Registers& out) noexcept {
    asm volatile(
        "movq %%rbx, 24(%0)\n movq %%rbp, 48(%0)\n movq %%rsp, 56(%0)\n movq %%r12, 96(%0)\n movq %%r13, 104(%0)\n"
        "movq %%r14, 112(%0)\n movq %%r15, 120(%0)\n leaq 1f(%%rip), %%rax\n 1: movq %%rax, 128(%0)\n"
        :
        : "r"(out.value.data())
        : "rax", "memory");
}

}  // namespace flameprobe::cpu
