// Instructions that C++ has no words for. Async-signal-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace flameprobe::cpu {

/// Gives the result, or minus the error number (syscall(2), "Architecture calling conventions").
inline long system_call(long number, long a, long b, long c, long d, long e, long f) noexcept {
    register long x8 asm("x8") = number;
    register long x0 asm("x0") = a;
    register long x1 asm("x1") = b;
    register long x2 asm("x2") = c;
    register long x3 asm("x3") = d;
    register long x4 asm("x4") = e;
    register long x5 asm("x5") = f;
    asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}

/// Whether thread_pointer() works.
inline bool has_thread_pointer() noexcept { return true; }

/// The address of the calling thread's control block.
inline std::uint64_t thread_pointer() noexcept {
    std::uint64_t base;
    asm volatile("mrs %0, tpidr_el0" : "=r"(base));
    return base;
}

/// Instructions, not memcpy: that one may be the host's or a sanitizer's, which would object to reading whole stacks.
inline void copy_bytes(std::byte* to, std::uint64_t from, std::size_t size) noexcept {
    asm volatile(
        "1: subs %[left], %[left], #16\n"
        "   b.lo 2f\n"
        "   ldp x9, x10, [%[from]], #16\n"
        "   stp x9, x10, [%[to]], #16\n"
        "   b 1b\n"
        "2: adds %[left], %[left], #16\n"
        "   b.eq 4f\n"
        "3: ldrb w9, [%[from]], #1\n"
        "   strb w9, [%[to]], #1\n"
        "   subs %[left], %[left], #1\n"
        "   b.ne 3b\n"
        "4:\n"
        : [to] "+r"(to), [from] "+r"(from), [left] "+r"(size)
        :
        : "x9", "x10", "cc", "memory");
}

/// Adds without being torn by a signal handler of the same thread. No other thread may write the cell.
inline void add(std::uint64_t& cell, std::uint64_t amount) noexcept {
    __atomic_fetch_add(&cell, amount, __ATOMIC_RELAXED);
}

/// Subtracts like add(); whether `amount` was all that is left, or more.
inline bool count_down(std::uint64_t& left, std::uint64_t amount) noexcept {
    return __atomic_fetch_sub(&left, amount, __ATOMIC_RELAXED) <= amount;
}

/// While it lives the calling thread computes with floating point as a program does that begins: no exception traps.
/// Then the host's modes and flags are back.
class PlainFloats {
public:
    PlainFloats() noexcept {
        asm volatile("mrs %0, fpcr\n mrs %1, fpsr" : "=r"(control_), "=r"(status_));
        asm volatile("msr fpcr, %0" : : "r"(std::uint64_t{0}));
    }
    ~PlainFloats() { asm volatile("msr fpcr, %0\n msr fpsr, %1" : : "r"(control_), "r"(status_)); }
    PlainFloats(const PlainFloats&) = delete;

private:
    std::uint64_t control_, status_;
};

/// For a thread of ours, which begins with the modes of the thread of the host that made it.
inline void use_plain_floats() noexcept { asm volatile("msr fpcr, %0" : : "r"(std::uint64_t{0})); }

/// The CPU's counter of time, whose rate is the same on all CPUs and never changes (Arm ARM, D11.1).
inline std::uint64_t counter() noexcept {
    std::uint64_t value;
    asm volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
}
inline bool counter_is_steady() noexcept { return true; }

/// To be called in a loop that waits for another thread.
inline void relax() noexcept { asm volatile("yield"); }

}  // namespace flameprobe::cpu
