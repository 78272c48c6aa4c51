// What the walker must know of aarch64 (AAPCS64; DWARF for the Arm 64-bit Architecture).
#pragma once

#include <cstdint>

namespace flameprobe {

struct ArchAarch64 {
    // `third` is x30, the link register: a leaf's return address never reaches the stack.
    static constexpr unsigned sp = 31, fp = 29, third = 30, return_address = 30;
    static constexpr bool return_address_in_register = true;
    // CFA - SP where a call arrives.
    static constexpr std::int32_t entry_cfa = 0;
    // x29 points at the caller's x29 and, above it, x30 (AAPCS64, section 6.4.6).
    static constexpr std::uint64_t frame_record_size = 16;
    // Pointer authentication signs return addresses in bits above the address's own, which are 48 or 52.
    static std::uint64_t strip(std::uint64_t value) { return value & address_mask; }
    static inline std::uint64_t address_mask = 0x0000ffffffffffff;
    /// Sets `address_mask` to what this machine's signatures leave. Before the first walk.
    static void learn_address_bits();
};

}  // namespace flameprobe
