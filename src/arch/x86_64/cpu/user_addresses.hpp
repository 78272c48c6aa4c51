#pragma once

namespace flameprobe::cpu {

/// Addresses of user space are below 2^47 (without five-level paging, which needs asking for by mmap hint).
inline constexpr unsigned user_address_bits = 47;

}  // namespace flameprobe::cpu
