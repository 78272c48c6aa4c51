// How much stack a function has taken whose return address is still in x30.
#include "arch/aarch64/instruction.hpp"
#include "unwind/code_bytes.hpp"

namespace flameprobe {
namespace {

/// Whether execution goes on with the next instruction, x30 stays as it is, and SP changes by a constant only, which
/// `by` becomes. The groups are those of "A64 instruction set encoding" (Arm ARM, C4.1).
bool goes_on(std::uint32_t instruction, std::int64_t& by) {
    constexpr unsigned sp = 31, link_register = 30;
    const unsigned target = instruction & 31;
    by = 0;
    if (a64::is_guard(instruction)) return true;
    if (target == link_register) return false;
    switch (instruction >> 25 & 15) {
        case 0b1000:
        case 0b1001: {  // a constant; the flag-setting forms have no SP as target
            by = a64::moved_sp(instruction);
            const bool sets_flags = (instruction & 0x3f000000) == 0x31000000;
            return target != sp || by != 0 || sets_flags;
        }
        case 0b0101:
        case 0b1101: {  // registers; only "add or subtract an extended register" has SP as target
            const bool may_set_sp = (instruction & 0x3fe00000) == 0x0b200000;
            return target != sp || !may_set_sp;
        }
        case 0b0111:
        case 0b1111:  // vector registers
            return true;
        case 0b0110:
        case 0b1110:
        case 0b0100:
        case 0b1100: {  // loads and stores
            const bool pair = (instruction & 0x3a000000) == 0x28000000;
            if (pair && (instruction >> 10 & 31) == link_register) return false;
            const bool structures =
                (instruction & 0xbf000000) == 0x0c000000 || (instruction & 0xbf000000) == 0x0d000000;
            by = a64::written_back_to_sp(instruction);
            return !structures || (instruction >> 5 & 31) != sp;
        }
        default:  // branches, system instructions, newer groups
            return false;
    }
}

/// Bytes of stack that the code from `address` gives back until its function's return; false if it does not lead
/// straight there.
bool given_back(std::uint64_t address, std::int64_t& bytes) {
    constexpr int most = 64;
    bytes = 0;
    for (int i = 0; i < most; ++i, address += 4) {
        const std::uint32_t instruction = a64::at(address);
        if (a64::is_return(instruction)) return true;
        std::int64_t by = 0;
        if (!goes_on(instruction, by)) return false;
        bytes += by;
    }
    return false;
}

/// Bytes of stack that the instructions of a prologue right before `address` have taken.
std::int64_t taken(std::uint64_t address) {
    constexpr int most = 8;
    std::int64_t bytes = 0;
    for (int i = 0; i < most; ++i) {
        address -= 4;
        const std::uint32_t instruction = a64::at(address);
        if (a64::is_guard(instruction)) continue;
        const std::int64_t by = a64::moved_sp(instruction) + a64::written_back_to_sp(instruction);
        const bool stores_above_sp =
            (instruction & 0x3bc003e0) == 0x290003e0 || (instruction & 0x3bc003e0) == 0x390003e0;
        if (by > 0 || (by == 0 && !stores_above_sp)) break;
        bytes -= by;
    }
    return bytes;
}

}  // namespace

std::int32_t frame_before_record(std::uint64_t address) {
    constexpr std::int64_t largest = 1 << 20;
    if (address % 4 != 0) return 0;
    std::int64_t bytes = 0;
    if (!given_back(address, bytes)) bytes = taken(address);
    return bytes > 0 && bytes < largest ? static_cast<std::int32_t>(bytes) : 0;
}

}  // namespace flameprobe
