// glibc's jmp_buf (sysdeps/aarch64/jmpbuf-offsets.h, setjmp.S: PTR_MANGLE is an exclusive or).
#pragma once

#include <setjmp.h>

#include <cstdint>

namespace flameprobe::cpu {

inline constexpr int stack_pointer_slot = 13;  // JB_SP

/// glibc's pointer guard, with which it encodes saved stack pointers. It has no public name, so it is worked out from a
/// jmp_buf of our own.
__attribute__((noinline)) inline std::uintptr_t pointer_guard() noexcept {
    jmp_buf buffer;
    std::uintptr_t here;
    if (::setjmp(buffer) != 0) return 0;
    asm volatile("mov %0, sp" : "=r"(here));
    return static_cast<std::uintptr_t>(buffer->__jmpbuf[stack_pointer_slot]) ^ here;
}

/// The stack pointer in the buffer, if this C library saves it as glibc does.
inline std::uintptr_t saved_stack_pointer(const __jmp_buf_tag* buffer) noexcept {
    static const std::uintptr_t guard = pointer_guard();
    return static_cast<std::uintptr_t>(buffer->__jmpbuf[stack_pointer_slot]) ^ guard;
}

}  // namespace flameprobe::cpu
