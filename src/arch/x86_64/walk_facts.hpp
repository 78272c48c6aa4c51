// What the walker must know of x86-64 (System V psABI).
#pragma once

#include <cstdint>

namespace flameprobe {

struct ArchX86_64 {
    // DWARF register numbers (psABI, figure 3.36). `third` is the one more register that real code needs beside the
    // stack and frame pointers: glibc's _dl_runtime_resolve_xsavec has its CFA in rbx.
    static constexpr unsigned sp = 7, fp = 6, third = 3, return_address = 16;
    // The call pushed it, so it is on the stack at the first instruction already.
    static constexpr bool return_address_in_register = false;
    // CFA - SP where a call arrives.
    static constexpr std::int32_t entry_cfa = 8;
    // System V keeps saved rbp and return address next to each other, the latter above.
    static constexpr std::uint64_t frame_record_size = 16;
    static constexpr std::uint64_t strip(std::uint64_t return_address_value) { return return_address_value; }
    static void learn_address_bits() {}
};

}  // namespace flameprobe
