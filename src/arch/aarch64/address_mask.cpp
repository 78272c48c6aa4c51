#include "arch/aarch64/walk_facts.hpp"

namespace flameprobe {

// xpaclri (Arm ARM, C6.2) takes the signature out of x30 and is a hint, so that CPUs without signatures leave all bits
// as they are. Of all bits below bit 55, which tells user from kernel addresses, those that are left are an address's.
void ArchAarch64::learn_address_bits() {
    register std::uint64_t x30 asm("x30") = (std::uint64_t{1} << 55) - 1;
    asm volatile("hint #7" : "+r"(x30));
    address_mask = x30;
}

}  // namespace flameprobe
