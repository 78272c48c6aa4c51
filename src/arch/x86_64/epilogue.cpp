// Intel SDM volume 2: PUSH, POP, ADD, SUB, CALL, RET, ENDBR64.
#include <array>
#include <cstring>
#include <span>

#include "base/self_memory.hpp"
#include "unwind/code_bytes.hpp"

namespace flameprobe {
namespace {

enum : unsigned { rax, rcx, rdx, rbx, rsp, rbp };

/// Follows the stack pointer, in bytes from where it is now, through instructions that it knows.
class EpilogueWalk {
public:
    explicit EpilogueWalk(std::span<const std::uint8_t> code) : code_(code) {}

    /// False where an instruction is not known.
    bool to_return() {
        while (!returned_)
            if (!step()) return false;
        return true;
    }
    std::int64_t sp() const { return sp_; }
    /// Where on the stack the value lies that the register will have at the return; `nowhere` if it has it already.
    static constexpr std::int64_t nowhere = -1;
    std::int64_t slot(unsigned number) const { return slots_[number]; }

private:
    std::uint8_t at(std::size_t i) const { return place_ + i < code_.size() ? code_[place_ + i] : 0; }

    bool step() {
        const bool extended = at(0) == 0x41;  // r8 to r15
        const std::uint8_t first = at(extended ? 1 : 0), second = at(extended ? 2 : 1);
        const std::size_t prefix = extended ? 1 : 0;
        if ((first & 0xf8) == 0x50) return go_on(prefix + 1, -8);
        if ((first & 0xf8) == 0x58) return pop(extended ? 8 : first & 7, prefix + 1);
        if (first == 0xff && (second & 0xf8) == 0xd0) return go_on(prefix + 2, 0);  // call *%reg
        if (extended) return false;
        if (first == 0xe8) return go_on(5, 0);
        if (first == 0xf3 && second == 0x0f && at(2) == 0x1e && at(3) == 0xfa) return go_on(4, 0);
        if (first == 0x48 && (second == 0x83 || second == 0x81)) return move_sp(second == 0x83);
        returned_ = first == 0xc3 || ((first == 0xf3 || first == 0xf2) && second == 0xc3);
        return returned_;
    }

    bool move_sp(bool is_byte) {
        const bool is_add = at(2) == 0xc4;
        if (!is_add && at(2) != 0xec) return false;
        std::int32_t wide = 0;
        const std::array<std::uint8_t, 4> bytes{at(3), at(4), at(5), at(6)};
        std::memcpy(&wide, bytes.data(), sizeof wide);
        const std::int32_t by = is_byte ? static_cast<std::int8_t>(at(3)) : wide;
        return go_on(is_byte ? 4 : 7, is_add ? by : -std::int64_t{by});
    }

    bool pop(unsigned number, std::size_t length) {
        if (number == rsp) return false;
        // A value that is pushed on the way is the one that the register holds now.
        if (number < slots_.size()) slots_[number] = sp_ >= 0 ? sp_ : nowhere;
        return go_on(length, 8);
    }

    bool go_on(std::size_t length, std::int64_t moved) {
        constexpr std::int64_t largest = 1 << 20;
        place_ += length;
        sp_ += moved;
        return place_ < code_.size() && sp_ > -largest && sp_ < largest;
    }

    std::span<const std::uint8_t> code_;
    std::size_t place_ = 0;
    std::int64_t sp_ = 0;
    std::array<std::int64_t, 6> slots_{nowhere, nowhere, nowhere, nowhere, nowhere, nowhere};
    bool returned_ = false;
};

/// HotSpot's methods that call nothing begin so: sub $N, %rsp; mov %rbp, N-8(%rsp); mov %rsp, %rbp; add $N-8, %rbp, the
/// first with four bytes for N. Until the last one is over, the record that the frame pointer leads to is the caller's.
bool prologue_of_leaf_method(std::uint64_t address, UnwindRule& rule) {
    constexpr std::array<std::size_t, 4> instructions{0, 7, 12, 15};
    for (const std::size_t before : instructions) {
        std::array<std::uint8_t, 19> code{};
        if (read_self(address - before, std::as_writable_bytes(std::span(code))) != code.size()) continue;
        const std::uint8_t size = code[3], slot = code[11];
        const std::array<std::uint8_t, 19> expected{0x48, 0x81, 0xec, size, 0,    0,    0,    0x48, 0x89, 0x6c,
                                                    0x24, slot, 0x48, 0x8b, 0xec, 0x48, 0x83, 0xc5, slot};
        if (code != expected || size < 8 || size >= 0x80 || slot != size - 8) continue;
        rule.set_frame_above_sp(before == 0 ? 8 : size + 8, -8, before < instructions[2] ? UnwindRule::same : -16);
        return true;
    }
    return false;
}

}  // namespace

bool epilogue_rule(std::uint64_t address, UnwindRule& rule) {
    if (prologue_of_leaf_method(address, rule)) return true;
    std::array<std::uint8_t, 64> bytes{};
    const std::size_t size = read_self(address, std::as_writable_bytes(std::span(bytes)));
    EpilogueWalk way{std::span<const std::uint8_t>(bytes).first(size)};
    if (!way.to_return() || way.sp() < 0) return false;
    const auto frame_size = static_cast<std::int32_t>(way.sp() + 8);
    const auto slot = [&](unsigned number) {
        const std::int64_t at = way.slot(number);
        return at == EpilogueWalk::nowhere ? UnwindRule::same : static_cast<std::int32_t>(at) - frame_size;
    };
    rule.set_frame_above_sp(frame_size, -8, slot(rbp), slot(rbx));
    return true;
}

}  // namespace flameprobe
