// What a signal handler is told of the thread that it interrupts. Async-signal-safe.
#pragma once

#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>

#include <array>
#include <cstdint>

#include "base/registers.hpp"
#include "cpu/instructions.hpp"

namespace flameprobe::cpu {

inline std::uint64_t interrupted_pc(const ucontext_t& context) noexcept { return context.uc_mcontext.pc; }

/// In DWARF's order. Never false: 32-bit code (PSTATE.nRW) runs in processes of its own.
inline bool copy_registers(const ucontext_t& context, Registers& out) noexcept {
    for (unsigned i = 0; i < 31; ++i) out.value[i] = context.uc_mcontext.regs[i];
    out.value[Registers::stack_pointer] = context.uc_mcontext.sp;
    out.value[Registers::pc_column] = context.uc_mcontext.pc;
    return true;
}

namespace detail {
/// Whether one of the instructions from `address` on is `svc #0`.
template <std::size_t count>
bool has_system_call(std::uint64_t address) noexcept {
    constexpr std::uint32_t svc_0 = 0xd4000001;
    std::array<std::uint32_t, count> code{};
    const iovec local{code.data(), sizeof code};
    const iovec remote{reinterpret_cast<void*>(address), sizeof code};
    const long self = system_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
    system_call(SYS_process_vm_readv, self, reinterpret_cast<long>(&local), 1, reinterpret_cast<long>(&remote), 1, 0);
    for (const std::uint32_t instruction : code)
        if (instruction == svc_0) return true;
    return false;
}
}  // namespace detail

/// A tick in the kernel signals when the thread leaves it: at the instruction after `svc`, or at `svc` itself if the
/// call is made again. No register tells that, so the code is read; by a system call, since code need not be readable.
/// Without permission to call (`may_call`) the answer is no.
inline bool leaves_system_call(const ucontext_t& context, bool may_call) noexcept {
    constexpr std::uint64_t numbers = 1024, number_register = 8;
    if (!may_call || context.uc_mcontext.regs[number_register] >= numbers) return false;
    return detail::has_system_call<2>(context.uc_mcontext.pc - 4);
}

/// Whether the instruction before the pc is a system call that has just returned.
inline bool after_system_call(const Registers& registers) noexcept {
    return detail::has_system_call<1>(registers.pc() - 4);
}

}  // namespace flameprobe::cpu
