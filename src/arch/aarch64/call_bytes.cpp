#include <cstring>
#include <span>

#include "arch/aarch64/instruction.hpp"
#include "unwind/code_bytes.hpp"

namespace flameprobe {
namespace {

bool read_instruction(std::uint64_t address, std::uint32_t& out) { return (out = a64::at(address)) != 0; }

/// adrp x16, page; ldr x17, [x16, #offset]; add x16, x16, ...; br x17: a PLT entry (AAPCS64 reserves x16 and x17).
bool follow_plt(std::uint64_t at, std::uint32_t adrp, std::uint64_t& target) {
    const std::uint32_t load = a64::at(at + 4);
    if (!a64::is_adrp_x16(adrp) || !a64::loads_x17(load)) return false;
    const std::uint64_t slot = a64::plt_slot(at, adrp, load);
    return read_self(slot, std::as_writable_bytes(std::span(&target, 1))) == sizeof target;
}

}  // namespace

CallSite read_call_site(std::uint64_t return_address, const CodeMap& map) {
    std::uint32_t instruction = 0;
    if (return_address % 4 != 0 || !read_instruction(return_address - 4, instruction)) return {};
    if ((instruction & 0xfc000000) == 0x94000000) {  // bl
        const std::uint64_t target = a64::branch_target(return_address - 4, instruction);
        if (map.find(target) != nullptr) return {CallSite::Kind::direct, target};
        return {};
    }
    const bool plain = (instruction & 0xfffffc1f) == 0xd63f0000;          // blr
    const bool authenticated = (instruction & 0xfefff800) == 0xd63f0800;  // blraa, blrab, blraaz, blrabz
    return {plain || authenticated ? CallSite::Kind::indirect : CallSite::Kind::none, 0};
}

bool calls_on_new_stack(std::uint64_t return_address) {
    constexpr std::uint64_t before_call = 3;           // instructions
    const auto loads_sp = [](std::uint64_t address) {  // mov sp, xN
        return (a64::at(address) & 0xfffffc1f) == 0x9100001f;
    };
    if (return_address % 4 != 0 || !loads_sp(return_address)) return false;
    for (std::uint64_t nth = 2; nth < 2 + before_call; ++nth)
        if (loads_sp(return_address - 4 * nth)) return true;
    return false;
}

std::uint64_t follow_stubs(std::uint64_t target) {
    constexpr int most_hops = 4;
    for (int hop = 0; hop < most_hops; ++hop) {
        std::uint64_t at = target, next = 0;
        std::uint32_t instruction = 0;
        if (!read_instruction(at, instruction)) return target;
        if (instruction == a64::bti_c && !read_instruction(at += 4, instruction)) return target;  // bti c
        if ((instruction & 0xfc000000) == 0x14000000) {                                           // b
            target = a64::branch_target(at, instruction);
        } else if (follow_plt(at, instruction, next)) {
            target = next;
        } else {
            return target;
        }
    }
    return target;
}

bool jumps_to(std::span<const std::byte> code, std::uint64_t address, std::uint64_t target) {
    for (std::size_t i = 0; i + 4 <= code.size(); i += 4) {
        std::uint32_t instruction = 0;
        std::memcpy(&instruction, code.data() + i, sizeof instruction);
        const bool jump = (instruction & 0xfc000000) == 0x14000000;
        if (jump && a64::branch_target(address + i, instruction) == target) return true;
    }
    return false;
}

std::vector<std::uint64_t> jumps_out(std::span<const std::byte> code, std::uint64_t address) {
    std::vector<std::uint64_t> out;
    for (std::size_t i = 0; i + 4 <= code.size(); i += 4) {
        std::uint32_t instruction = 0;
        std::memcpy(&instruction, code.data() + i, sizeof instruction);
        const std::uint64_t to = a64::branch_target(address + i, instruction);
        if ((instruction & 0xfc000000) == 0x14000000 && to - address >= code.size()) out.push_back(follow_stubs(to));
    }
    return out;
}

bool may_jump_to(std::span<const std::byte> code, std::uint64_t address, std::uint64_t target) {
    for (std::size_t i = 0; i + 4 <= code.size(); i += 4) {
        std::uint32_t instruction = 0;
        std::memcpy(&instruction, code.data() + i, sizeof instruction);
        const std::uint64_t to = a64::branch_target(address + i, instruction);
        const bool outside = to - address >= code.size();
        if ((instruction & 0xfc000000) == 0x14000000 && (to == target || (outside && follow_stubs(to) == target)))
            return true;
    }
    return false;
}

}  // namespace flameprobe
