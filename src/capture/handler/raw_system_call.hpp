// The kernel without libc: nothing to interpose, no cancellation point, errno is never written.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cpu/instructions.hpp"

/// What the kernel jumps to after a handler (sigaction(2), SA_RESTORER); in src/arch.
extern "C" void flameprobe_signal_return();

namespace flameprobe::handler {

template <class T>
inline long register_value(T value) noexcept {
    if constexpr (std::is_pointer_v<T>) {
        return static_cast<long>(reinterpret_cast<std::uintptr_t>(value));
    } else {
        return static_cast<long>(value);
    }
}

/// Gives the result, or minus the error number. Async-signal-safe.
template <class A = long, class B = long, class C = long, class D = long, class E = long, class F = long>
inline long system_call(long number, A a = 0, B b = 0, C c = 0, D d = 0, E e = 0, F f = 0) noexcept {
    return cpu::system_call(number, register_value(a), register_value(b), register_value(c), register_value(d),
                            register_value(e), register_value(f));
}

/// struct sigaction as the kernel has it (include/uapi/asm-generic/signal.h); libc's differs.
struct KernelAction {
    std::uintptr_t handler = 0;  // 0: by default
    unsigned long flags = restorer_flag;
    void (*restorer)() = &flameprobe_signal_return;
    std::uint64_t mask = 0;

    static constexpr unsigned long restorer_flag = 0x04000000;
};

}  // namespace flameprobe::handler
