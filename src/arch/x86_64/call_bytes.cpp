// Intel SDM volume 2: CALL, JMP.
#include <array>
#include <cstring>
#include <span>

#include "base/self_memory.hpp"
#include "unwind/code_bytes.hpp"

namespace flameprobe {
namespace {

template <class T>
bool read_value(std::uint64_t address, T& out) {
    return read_self(address, std::as_writable_bytes(std::span(&out, 1))) == sizeof out;
}

std::uint64_t displaced(std::uint64_t next_instruction, const std::uint8_t* displacement) {
    std::int32_t value = 0;
    std::memcpy(&value, displacement, sizeof value);
    return next_instruction + static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

std::uint64_t sign_extended(std::uint8_t value) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int8_t>(value)));
}

/// The length of `FF /2` (CALL r/m64) whose opcode is `bytes[0]`, without prefixes; 0 if it is none.
unsigned indirect_call_length(const std::uint8_t* bytes) {
    if (bytes[0] != 0xff || (bytes[1] >> 3 & 7) != 2) return 0;
    const unsigned mod = bytes[1] >> 6, rm = bytes[1] & 7;
    if (mod == 3) return 2;
    const unsigned sib = rm == 4 ? 1 : 0;
    const bool no_base = mod == 0 && (rm == 5 || (sib != 0 && (bytes[2] & 7) == 5));
    const unsigned displacement = mod == 1 ? 1 : mod == 2 || no_base ? 4 : 0;
    return 2 + sib + displacement;
}

/// Whether the byte belongs to how far a call, a jump or an operand relative to %rip lies, and so is no opcode. A jump
/// back ends in ff, and what fills the space behind it would make that a jump through memory.
bool is_in_distance(std::span<const std::byte> code, std::uint64_t address, std::size_t at) {
    constexpr std::uint64_t farthest = std::uint64_t{128} << 20;  // within one object
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(code.data());
    for (std::size_t i = at < 4 ? 0 : at - 4; i < at && i + 5 <= code.size(); ++i) {
        const bool relative_operand = (bytes[i] & 0xc7) == 0x05;
        const bool conditional = i > 0 && bytes[i - 1] == 0x0f && (bytes[i] & 0xf0) == 0x80;
        if (bytes[i] != 0xe8 && bytes[i] != 0xe9 && !relative_operand && !conditional) continue;
        const std::uint64_t next = address + i + 5, to = displaced(next, bytes + i + 1);
        std::uint8_t there = 0;
        if (to - next + farthest < 2 * farthest && read_value(to, there)) return true;
    }
    return false;
}

}  // namespace

CallSite read_call_site(std::uint64_t return_address, const CodeMap& map) {
    constexpr std::size_t longest = 7;
    std::array<std::uint8_t, longest + 3> bytes{};  // room behind, so that no form reads past the end
    if (read_self(return_address - longest, std::as_writable_bytes(std::span(bytes).first(longest))) != longest)
        return {};
    const std::uint8_t* const end = bytes.data() + longest;
    // Seven bytes with a SIB byte can have 0xe8 where the direct call has its opcode: then nothing is certain.
    const bool ambiguous = indirect_call_length(end - 7) == 7;
    if (!ambiguous && end[-5] == 0xe8) {
        const std::uint64_t target = displaced(return_address, end - 4);
        if (map.find(target) != nullptr) return {CallSite::Kind::direct, target};
    }
    if (end[-6] == 0xff && end[-5] == 0x15) {  // call *slot(%rip): the global offset table, which no longer changes
        std::uint64_t target = 0;
        if (!read_value(displaced(return_address, end - 4), target) || map.find(target) == nullptr) target = 0;
        return {CallSite::Kind::indirect, target};
    }
    for (const unsigned length : {2u, 3u, 4u, 6u, 7u})
        if (indirect_call_length(end - length) == length) return {CallSite::Kind::indirect, 0};
    return {};
}

bool calls_on_new_stack(std::uint64_t return_address) {
    constexpr std::size_t before = 16, behind = 3;
    std::array<std::uint8_t, before + behind> code{};
    if (read_self(return_address - before, std::as_writable_bytes(std::span(code))) != code.size()) return false;
    const auto loads_rsp = [&](std::size_t at) {  // mov %reg, %rsp, in either encoding
        const std::uint8_t prefix = code[at], opcode = code[at + 1], operands = code[at + 2];
        return ((prefix | 0x04) == 0x4c && opcode == 0x89 && (operands & 0xc7) == 0xc4) ||
               ((prefix | 0x01) == 0x49 && opcode == 0x8b && (operands & 0xf8) == 0xe0);
    };
    const bool restores = loads_rsp(before) || code[before] == 0xc9 ||  // leave; lea N(%rbp), %rsp
                          (code[before] == 0x48 && code[before + 1] == 0x8d && (code[before + 2] | 0xc0) == 0xe5);
    bool sets = false;
    for (std::size_t at = 0; at + 3 <= before - 2; ++at) sets = sets || loads_rsp(at);
    return restores && sets;
}

std::uint64_t follow_stubs(std::uint64_t target) {
    constexpr int most_hops = 4;
    for (int hop = 0; hop < most_hops; ++hop) {
        std::array<std::uint8_t, 16> bytes{};
        if (read_self(target, std::as_writable_bytes(std::span(bytes))) < 12) return target;
        std::size_t at = 0;
        constexpr std::array<std::uint8_t, 4> endbr64{0xf3, 0x0f, 0x1e, 0xfa};
        if (std::memcmp(bytes.data(), endbr64.data(), endbr64.size()) == 0) at = endbr64.size();
        if (bytes[at] == 0xf2) ++at;  // bnd
        std::uint64_t next = 0;
        if (bytes[at] == 0xe9) {
            next = displaced(target + at + 5, &bytes[at + 1]);
        } else if (bytes[at] == 0xff && bytes[at + 1] == 0x25) {
            if (!read_value(displaced(target + at + 6, &bytes[at + 2]), next)) return target;
        } else {
            return target;
        }
        target = next;
    }
    return target;
}

bool jumps_to(std::span<const std::byte> code, std::uint64_t address, std::uint64_t target) {
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(code.data());
    for (std::size_t i = 0; i + 5 <= code.size(); ++i) {
        const bool conditional = bytes[i] == 0x0f && (bytes[i + 1] & 0xf0) == 0x80;
        const std::size_t length = conditional ? 6 : 5;
        if ((!conditional && bytes[i] != 0xe9) || i + length > code.size()) continue;
        if (displaced(address + i + length, bytes + i + length - 4) == target) return true;
    }
    return false;
}

std::vector<std::uint64_t> jumps_out(std::span<const std::byte> code, std::uint64_t address) {
    std::vector<std::uint64_t> out;
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(code.data());
    for (std::size_t i = 0; i + 5 <= code.size(); ++i) {
        const std::uint64_t to = displaced(address + i + 5, bytes + i + 1);
        if (bytes[i] == 0xe9 && to - address >= code.size()) out.push_back(follow_stubs(to));
    }
    return out;
}

bool may_jump_to(std::span<const std::byte> code, std::uint64_t address, std::uint64_t target) {
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(code.data());
    // Every offset is tried, instruction or not: that a wrong one leads to the very target is next to impossible.
    for (std::size_t i = 0; i + 2 <= code.size(); ++i) {
        if (bytes[i] == 0xeb && address + i + 2 + sign_extended(bytes[i + 1]) == target) return true;
        const bool jump = bytes[i] == 0xe9, conditional = bytes[i] == 0x0f && (bytes[i + 1] & 0xf0) == 0x80;
        const std::size_t length = jump ? 5 : 6;
        if ((jump || conditional) && i + length <= code.size()) {
            const std::uint64_t to = displaced(address + i + length, bytes + i + length - 4);
            const bool outside = to - address >= code.size();
            if (to == target || (outside && jump && follow_stubs(to) == target)) return true;
        }
        if (bytes[i] == 0xff && (bytes[i + 1] >> 3 & 7) == 4 && !is_in_distance(code, address, i)) {
            const unsigned mod = bytes[i + 1] >> 6, rm = bytes[i + 1] & 7;
            std::uint64_t to = 0;
            if (mod == 0 && rm == 5 && i + 6 <= code.size() &&
                read_value(displaced(address + i + 6, bytes + i + 2), to) && to == target)
                return true;
            // jmp *N(%reg); not jmp *%reg nor jmp *table(,%reg,8), which are how a switch jumps.
            if (rm != 4 && (mod == 1 || mod == 2 || (mod == 0 && rm != 5))) return true;
            // jmp *%reg where registers were popped: no switch is there.
            const std::size_t begin = i > 0 && bytes[i - 1] == 0x41 ? i - 1 : i;
            if (mod == 3 && begin > 0 && (bytes[begin - 1] & 0xf8) == 0x58) return true;
        }
    }
    return false;
}

}  // namespace flameprobe
