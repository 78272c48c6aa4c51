// Instructions that C++ has no words for. Async-signal-safe.
#pragma once

#include <sys/auxv.h>

#include <cstddef>
#include <cstdint>

namespace flameprobe::cpu {

/// Gives the result, or minus the error number (psABI, A.2.1).
inline long system_call(long number, long a, long b, long c, long d, long e, long f) noexcept {
    register long r10 asm("r10") = d;
    register long r8 asm("r8") = e;
    register long r9 asm("r9") = f;
    long result = number;
    asm volatile("syscall"
                 : "+a"(result)
                 : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return result;
}

/// Whether thread_pointer() works: AT_HWCAP2 says HWCAP2_FSGSBASE (arch/x86/include/uapi/asm/hwcap2.h).
inline bool has_thread_pointer() noexcept {
    constexpr unsigned long fsgsbase = 2;
    return (::getauxval(AT_HWCAP2) & fsgsbase) != 0;
}

/// The address of the calling thread's control block.
inline std::uint64_t thread_pointer() noexcept {
    std::uint64_t base;
    asm volatile("rdfsbase %0" : "=r"(base));
    return base;
}

/// An instruction, not memcpy: that one may be the host's or a sanitizer's, which would object to reading whole stacks.
inline void copy_bytes(std::byte* to, std::uint64_t from, std::size_t size) noexcept {
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

/// Adds without being torn by a signal handler of the same thread. No other thread may write the cell.
inline void add(std::uint64_t& cell, std::uint64_t amount) noexcept {
    asm volatile("addq %1, %0" : "+m"(cell) : "er"(amount) : "cc");
}

/// Subtracts like add(); whether `amount` was all that is left, or more.
inline bool count_down(std::uint64_t& left, std::uint64_t amount) noexcept {
    bool nothing;
    asm volatile("subq %2, %0" : "+m"(left), "=@ccbe"(nothing) : "er"(amount));
    return nothing;
}

/// While it lives the calling thread computes with floating point as a program does that begins: no exception traps.
/// Then the host's modes and flags are back (psABI, 3.2.1: MXCSR).
class PlainFloats {
public:
    PlainFloats() noexcept {
        constexpr std::uint32_t as_a_program_begins = 0x1f80;
        asm volatile("stmxcsr %0" : "=m"(host_));
        asm volatile("ldmxcsr %0" : : "m"(as_a_program_begins));
    }
    ~PlainFloats() { asm volatile("ldmxcsr %0" : : "m"(host_)); }
    PlainFloats(const PlainFloats&) = delete;

private:
    std::uint32_t host_;
};

/// For a thread of ours, which begins with the modes of the thread of the host that made it.
inline void use_plain_floats() noexcept {
    constexpr std::uint32_t as_a_program_begins = 0x1f80;
    asm volatile("fninit\n\tldmxcsr %0" : : "m"(as_a_program_begins));
}

/// The CPU's time stamp counter. It may fault: prctl(2), PR_SET_TSC.
inline std::uint64_t counter() noexcept { return __builtin_ia32_rdtsc(); }

/// Whether it goes on at one rate, whatever the CPU does: CPUID 80000007, EDX bit 8 (Intel SDM vol. 3, "Invariant
/// TSC").
inline bool counter_is_steady() noexcept {
    std::uint32_t eax = 0x80000007, ebx, ecx = 0, edx;
    asm volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
    return (edx & 0x100) != 0;
}

/// To be called in a loop that waits for another thread.
inline void relax() noexcept { __builtin_ia32_pause(); }

}  // namespace flameprobe::cpu
