// System calls without libc: nothing to interpose, no cancellation point, errno is never written.
#pragma once

#include <cstdint>
#include <type_traits>

namespace flameprobe::handler {

template <class T>
inline long register_value(T value) noexcept {
    if constexpr (std::is_pointer_v<T>) {
        return static_cast<long>(reinterpret_cast<std::uintptr_t>(value));
    } else {
        return static_cast<long>(value);
    }
}

/// Gives the result, or minus the error number (x86-64 psABI, A.2.1). Async-signal-safe.
template <class A = long, class B = long, class C = long, class D = long, class E = long, class F = long>
inline long system_call(long number, A a = 0, B b = 0, C c = 0, D d = 0, E e = 0, F f = 0) noexcept {
    register long r10 asm("r10") = register_value(d);
    register long r8 asm("r8") = register_value(e);
    register long r9 asm("r9") = register_value(f);
    long result = number;
    asm volatile("syscall"
                 : "+a"(result)
                 : "D"(register_value(a)), "S"(register_value(b)), "d"(register_value(c)), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return result;
}

/// The calling thread's control block. Only where AT_HWCAP2 permits (State::may_read_fs).
inline std::uint64_t fs_base() noexcept {
    std::uint64_t base;
    asm volatile("rdfsbase %0" : "=r"(base));
    return base;
}

}  // namespace flameprobe::handler
