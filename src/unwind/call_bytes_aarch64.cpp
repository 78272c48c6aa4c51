// Arm Architecture Reference Manual for A-profile, C6.2: BL, BLR, B, ADRP, LDR, BR.
#include <cstring>
#include <span>

#include "base/self_memory.hpp"
#include "unwind/call_bytes.hpp"

namespace flameprobe {
namespace {

bool read_instruction(std::uint64_t address, std::uint32_t& out) {
    return read_self(address, std::as_writable_bytes(std::span(&out, 1))) == sizeof out;
}

/// The 26-bit word offset of B and BL.
std::uint64_t branch_target(std::uint64_t address, std::uint32_t instruction) {
    const auto words = static_cast<std::int64_t>(static_cast<std::uint64_t>(instruction & 0x03ffffff) << 38) >> 36;
    return address + static_cast<std::uint64_t>(words);
}

/// adrp x16, page; ldr x17, [x16, #offset]; add x16, x16, ...; br x17: a PLT entry (AAPCS64 reserves x16 and x17).
bool follow_plt(std::uint64_t at, std::uint32_t adrp, std::uint64_t& target) {
    std::uint32_t load = 0;
    if ((adrp & 0x9f00001f) != 0x90000010 || !read_instruction(at + 4, load) || (load & 0xffc003ff) != 0xf9400211)
        return false;
    const std::uint64_t immediate = (adrp >> 29 & 3) | (adrp >> 5 & 0x7ffff) << 2;
    const auto pages = static_cast<std::int64_t>(immediate << 43) >> 31;  // 21 bits of 4 KiB pages
    const std::uint64_t slot =
        (at & ~std::uint64_t{4095}) + static_cast<std::uint64_t>(pages) + (load >> 10 & 0xfff) * 8;
    return read_self(slot, std::as_writable_bytes(std::span(&target, 1))) == sizeof target;
}

}  // namespace

CallSite read_call_site(std::uint64_t return_address, const CodeMap& map) {
    std::uint32_t instruction = 0;
    if (return_address % 4 != 0 || !read_instruction(return_address - 4, instruction)) return {};
    if ((instruction & 0xfc000000) == 0x94000000) {  // bl
        const std::uint64_t target = branch_target(return_address - 4, instruction);
        if (map.find(target) != nullptr) return {CallSite::Kind::direct, target};
        return {};
    }
    const bool plain = (instruction & 0xfffffc1f) == 0xd63f0000;          // blr
    const bool authenticated = (instruction & 0xfefff800) == 0xd63f0800;  // blraa, blrab, blraaz, blrabz
    return {plain || authenticated ? CallSite::Kind::indirect : CallSite::Kind::none, 0};
}

std::uint64_t follow_stubs(std::uint64_t target) {
    constexpr int most_hops = 4;
    for (int hop = 0; hop < most_hops; ++hop) {
        std::uint64_t at = target, next = 0;
        std::uint32_t instruction = 0;
        if (!read_instruction(at, instruction)) return target;
        if (instruction == 0xd503245f && !read_instruction(at += 4, instruction)) return target;  // bti c
        if ((instruction & 0xfc000000) == 0x14000000) {                                           // b
            target = branch_target(at, instruction);
        } else if (follow_plt(at, instruction, next)) {
            target = next;
        } else {
            return target;
        }
    }
    return target;
}

bool may_jump_to(std::span<const std::byte> code, std::uint64_t address, std::uint64_t target) {
    for (std::size_t i = 0; i + 4 <= code.size(); i += 4) {
        std::uint32_t instruction = 0;
        std::memcpy(&instruction, code.data() + i, sizeof instruction);
        const std::uint64_t to = branch_target(address + i, instruction);
        const bool outside = to - address >= code.size();
        if ((instruction & 0xfc000000) == 0x14000000 && (to == target || (outside && follow_stubs(to) == target)))
            return true;
    }
    return false;
}

}  // namespace flameprobe
