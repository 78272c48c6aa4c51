// Names and numbers of the kernel and of libc that depend on the CPU.
#pragma once

#include <sys/syscall.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace flameprobe::cpu {

/// In the vdso (vdso(7)).
inline constexpr const char* vdso_clock_gettime = "__vdso_clock_gettime";
/// What libc registers restartable sequences with (sys/rseq.h, RSEQ_SIG).
inline constexpr std::uint32_t rseq_signature = 0x53053053;
/// Calls that newer architectures have in another form only, as far as libc still makes them.
inline constexpr std::array<long, 9> older_system_calls = {SYS_open,  SYS_rename, SYS_unlink, SYS_readlink, SYS_access,
                                                           SYS_mkdir, SYS_rmdir,  SYS_poll,   SYS_dup2};
/// Addresses of user space are below 2^47 (without five-level paging, which needs asking for by mmap hint).
inline constexpr unsigned user_address_bits = 47;

/// The smallest alternate signal stack that sigaltstack(2) accepts (the kernel's MINSIGSTKSZ; libc's may differ).
inline constexpr std::size_t least_signal_stack = 2048;

}  // namespace flameprobe::cpu
