// What the kernel puts on a stack for a signal handler. It is not moved on this CPU: handlers run on the stack that the
// kernel chose.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

namespace flameprobe::cpu {

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

}  // namespace flameprobe::cpu
