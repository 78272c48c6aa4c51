// What the kernel puts on a stack for a signal handler (arch/x86/include/asm/sigframe.h, struct rt_sigframe): the
// return address, the ucontext, the siginfo, above them the floating-point state. Async-signal-safe.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>

#include "cpu/instructions.hpp"

/// What a handler returns to whose frame was moved. Calls flameprobe_before_signal_return_ with the ucontext.
extern "C" void flameprobe_handler_return_();

namespace flameprobe::cpu {

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

}  // namespace flameprobe::cpu
