// Names and numbers of the kernel and of libc that depend on the CPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace flameprobe::cpu {

/// In the vdso (vdso(7)).
inline constexpr const char* vdso_clock_gettime = "__kernel_clock_gettime";
/// What libc registers restartable sequences with (sys/rseq.h, RSEQ_SIG).
inline constexpr std::uint32_t rseq_signature = 0xd428bc00;
/// Calls that newer architectures have in another form only: none.
inline constexpr std::array<long, 0> older_system_calls = {};
/// Addresses of user space are below 2^48 (52 bits need asking for by mmap hint: Documentation/arm64/memory.rst).
inline constexpr unsigned user_address_bits = 48;

/// The smallest alternate signal stack that sigaltstack(2) accepts (the kernel's MINSIGSTKSZ; libc's may differ).
inline constexpr std::size_t least_signal_stack = 5120;

}  // namespace flameprobe::cpu
