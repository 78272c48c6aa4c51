// What a signal handler finds: the state of the thread that it interrupts. The frame that the kernel has put on a stack
// is not moved on this CPU: handlers run on the stack that the kernel chose. Async-signal-safe.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <array>
#include <cstdint>
#include <span>

#include "base/registers.hpp"
#include "base/self_memory.hpp"

namespace flameprobe::cpu {

inline std::uint64_t interrupted_pc(const ucontext_t& context) noexcept { return context.uc_mcontext.pc; }

/// A program may not change this CPU's check of alignment.
inline void permit_unaligned_access(const ucontext_t&) noexcept {}

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

/// What a debugger has put into the place of an instruction: brk.
using BreakpointCode = std::uint32_t;
inline bool is_breakpoint(BreakpointCode code) noexcept { return (code & 0xffe0001f) == 0xd4200000; }

/// Moves a thread that was stopped by one back to it, where this CPU leaves it, and gives its address.
inline std::uint64_t step_back(ucontext_t& context) noexcept { return context.uc_mcontext.pc; }

inline std::uintptr_t interrupted_sp(const ucontext_t& context) noexcept { return context.uc_mcontext.sp; }
inline constexpr std::uintptr_t red_zone = 0;
/// Not known on this CPU.
inline std::uintptr_t interrupted_at(const std::uintptr_t*) noexcept { return 0; }

inline bool can_move_frame(const void*, const void*) noexcept { return false; }

using Distance = std::intptr_t;
inline Distance copy_signal_frame(ucontext_t&, std::uintptr_t, std::uintptr_t, std::uintptr_t) noexcept { return 0; }

[[noreturn]] inline void enter_handler(void (*)(int, siginfo_t*, void*), int, siginfo_t*, void*) noexcept {
    __builtin_trap();
}

// What only the code at a sample's pc shows. For the collector, since a handler may not read code (which need not be
// readable) and may make no system call (which a filter may answer by killing).

constexpr std::uint32_t svc_0 = 0xd4000001;

/// Whether a thread of this process that may_leave_system_call() did: it stands at the instruction after `svc`, or at
/// `svc` itself if the call is made again.
inline bool left_system_call(const Registers& registers) noexcept {
    std::array<std::uint32_t, 2> code{};  // before the pc, and at it
    const auto bytes = std::as_writable_bytes(std::span(code));
    return read_self(registers.pc() - 4, bytes) >= 4 && (code[0] == svc_0 || code[1] == svc_0);
}

/// Whether the instruction before the pc is a system call that has just returned.
inline bool after_system_call(const Registers& registers) noexcept {
    std::array<std::uint32_t, 1> code{};
    return read_self(registers.pc() - 4, std::as_writable_bytes(std::span(code))) == 4 && code[0] == svc_0;
}

}  // namespace flameprobe::cpu
