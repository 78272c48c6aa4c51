#pragma once

namespace flameprobe::cpu {

/// Addresses of user space are below 2^48 (52 bits need asking for by mmap hint: Documentation/arm64/memory.rst).
inline constexpr unsigned user_address_bits = 48;

}  // namespace flameprobe::cpu
