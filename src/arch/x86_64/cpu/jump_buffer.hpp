// glibc's jmp_buf (sysdeps/x86_64/jmpbuf-offsets.h and __longjmp.S; unchanged since 2.4).
#pragma once

#include <setjmp.h>

#include <cstdint>

namespace flameprobe::cpu {

/// The stack pointer in the buffer, if this C library saves it as glibc does.
inline std::uintptr_t saved_stack_pointer(const __jmp_buf_tag* buffer) noexcept {
    constexpr int stack_pointer_slot = 6;  // JB_RSP
    std::uintptr_t value = static_cast<std::uintptr_t>(buffer->__jmpbuf[stack_pointer_slot]), guard;
    value = value >> 17 | value << 47;
    asm("movq %%fs:0x30, %0" : "=r"(guard));  // tcbhead_t::pointer_guard
    return value ^ guard;
}

}  // namespace flameprobe::cpu
