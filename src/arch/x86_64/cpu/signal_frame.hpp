// What a signal handler finds: the state of the thread that it interrupts, and the frame that the kernel has put on a
// stack (arch/x86/include/asm/sigframe.h, struct rt_sigframe): the return address, the ucontext, the siginfo, above
// them the floating-point state. Async-signal-safe.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>

#include "base/registers.hpp"
#include "cpu/instructions.hpp"

/// What a handler returns to whose frame was moved. Calls flameprobe_before_signal_return_ with the ucontext.
extern "C" void flameprobe_handler_return_();

namespace flameprobe::cpu {

inline std::uint64_t interrupted_pc(const ucontext_t& context) noexcept {
    return static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
}

/// The kernel leaves EFLAGS.AC to a handler, where the host has set it: access to what is not aligned would fault.
inline void permit_unaligned_access(const ucontext_t& context) noexcept {
    constexpr greg_t alignment_check = 0x40000;
    if ((context.uc_mcontext.gregs[REG_EFL] & alignment_check) == 0) return;
    asm volatile(
        "lea -128(%%rsp), %%rsp\n\tpushfq\n\tandq $-0x40001, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp"  // the red zone
        :
        :
        : "cc", "memory");
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

/// What a debugger has put into the place of an instruction's beginning: int3.
using BreakpointCode = std::uint8_t;
inline bool is_breakpoint(BreakpointCode code) noexcept { return code == 0xcc; }

/// Moves a thread that was stopped by one back to it, and gives its address.
inline std::uint64_t step_back(ucontext_t& context) noexcept {
    return static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RIP] -= 1);
}

inline std::uintptr_t interrupted_sp(const ucontext_t& context) noexcept {
    return static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RSP]);
}
/// If `word` looks like the beginning of a handler's frame, its return address: where the signal interrupted the
/// thread. Else 0. A ucontext behind it can be read.
inline std::uintptr_t interrupted_at(const std::uintptr_t* word) noexcept {
    constexpr greg_t user_code = 0x33;  // cs of 64-bit code
    const auto& context = *reinterpret_cast<const ucontext_t*>(word + 1);
    const auto state = reinterpret_cast<std::uintptr_t>(context.uc_mcontext.fpregs);
    const auto here = reinterpret_cast<std::uintptr_t>(word);
    constexpr std::uintptr_t nearby = 4096;
    if (*word == 0 || context.uc_link != nullptr || (context.uc_mcontext.gregs[REG_CSGSFS] & 0xffff) != user_code ||
        state < here || state > here + nearby)
        return 0;
    return static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
}
/// Bytes below the stack pointer that belong to the interrupted function (psABI, 3.2.2).
inline constexpr std::uintptr_t red_zone = 128;

/// Whether the frame of a handler may be moved. At the handler's `cfa` the return address ends, and in the kernel's
/// frame the ucontext begins. With a shadow stack (rdssp gives its top; without one it is a nop) a handler must return
/// to where the kernel said.
inline bool can_move_frame(const void* context, const void* cfa) noexcept {
    std::uint64_t shadow_stack = 0;
    asm volatile("rdsspq %0" : "+r"(shadow_stack));
    return context == cfa && shadow_stack == 0;
}

/// Where a frame was moved to, in bytes; 0: there was no room.
using Distance = std::intptr_t;

/// Copies the frame of `context`, which ends at `end`, to where it ends at `to` or little below, and does not begin
/// below `lowest`. Its handler returns to flameprobe_handler_return_.
inline Distance copy_signal_frame(ucontext_t& context, std::uintptr_t end, std::uintptr_t to,
                                  std::uintptr_t lowest) noexcept {
    constexpr std::uintptr_t alignment = 64;  // of the floating-point state
    const auto from = reinterpret_cast<std::uintptr_t>(&context) - sizeof(void*);
    const std::uintptr_t distance = (to - end) & ~(alignment - 1);
    const std::uintptr_t begin = from + distance;
    if (begin < lowest || begin > to) return 0;
    copy_bytes(reinterpret_cast<std::byte*>(begin), from, end - from);
    auto& moved = *reinterpret_cast<ucontext_t*>(begin + sizeof(void*));
    if (moved.uc_mcontext.fpregs != nullptr)
        moved.uc_mcontext.fpregs =
            reinterpret_cast<fpregset_t>(reinterpret_cast<std::uintptr_t>(moved.uc_mcontext.fpregs) + distance);
    *reinterpret_cast<void (**)()>(begin) = &flameprobe_handler_return_;
    return static_cast<Distance>(distance);
}

/// Calls a handler as the kernel does, with the stack pointer at the frame of `context`.
[[noreturn]] inline void enter_handler(void (*handler)(int, siginfo_t*, void*), int number, siginfo_t* info,
                                       void* context) noexcept {
    asm volatile(
        "movq %4, %%rsp\n\t"
        "xorl %%eax, %%eax\n\t"
        "jmpq *%3"
        :
        : "D"(number), "S"(info), "d"(context), "c"(handler), "b"(static_cast<char*>(context) - sizeof(void*))
        : "memory");
    __builtin_unreachable();
}

/// may_leave_system_call() is exact here.
inline bool left_system_call(const Registers& /*registers*/) noexcept { return true; }

/// Whether the instruction before the pc is a system call that has just returned; see may_leave_system_call().
inline bool after_system_call(const Registers& registers) noexcept {
    constexpr unsigned rcx = 2;
    return registers.value[rcx] == registers.pc();
}

}  // namespace flameprobe::cpu
