#include <array>

#include "arch/aarch64/instruction.hpp"
#include "unwind/code_bytes.hpp"

namespace flameprobe {
namespace {

/// Follows the stack pointer, in bytes from where it is now, through instructions that it knows.
class EpilogueWalk {
public:
    explicit EpilogueWalk(std::uint64_t address) : address_(address) {}

    /// False where an instruction is not known.
    bool to_return() {
        constexpr int most = 16;
        for (int i = 0; i < most; ++i, address_ += 4) {
            const std::uint32_t instruction = a64::at(address_);
            if (a64::is_return(instruction)) return true;
            if (!step(instruction)) return false;
        }
        return false;
    }
    std::int64_t sp() const { return sp_; }
    /// False for a leaf, whose return address stays in x30: nothing on the stack would prove its rule.
    bool loads_return_address() const { return loads_return_address_; }
    /// Where on the stack the value lies that the register will have at the return; `nowhere` if it has it already.
    static constexpr std::int64_t nowhere = -1;
    std::int64_t frame_pointer() const { return slots_[29]; }
    std::int64_t return_address() const { return slots_[30]; }

private:
    bool step(std::uint32_t instruction) {
        if (a64::is_guard(instruction) || a64::sets_frame_pointer(instruction)) return true;
        const bool calls = (instruction & 0xfc000000) == 0x94000000 || (instruction & 0xfffffc1f) == 0xd63f0000;
        if (calls) return true;
        if (const std::int64_t by = a64::moved_sp(instruction); by != 0) return move(by);
        const unsigned first = instruction & 31, second = instruction >> 10 & 31;
        const std::int64_t pair = a64::signed_field(instruction, 15, 7) * 8;
        switch (instruction & 0xffc003e0) {
            case 0xa94003e0:  // ldp x, x, [sp, #N]
                return load(first, sp_ + pair) && load(second, sp_ + pair + 8);
            case 0xa8c003e0:  // ldp x, x, [sp], #N
                return load(first, sp_) && load(second, sp_ + 8) && move(pair);
            case 0xf94003e0:  // ldr x, [sp, #N]
                return load(first, sp_ + std::int64_t{instruction >> 10 & 0xfff} * 8);
            case 0xa98003e0:  // stp x, x, [sp, #-N]!
                return move(pair);
            case 0xa90003e0:  // stp x, x, [sp, #N]
            case 0xf90003e0:  // str x, [sp, #N]
            case 0x6d4003e0:  // ldp d, d, [sp, #N]
                return true;
            case 0x6cc003e0:  // ldp d, d, [sp], #N
                return move(pair);
            default:
                break;
        }
        if ((instruction & 0xffe00fe0) == 0xf84007e0)  // ldr x, [sp], #N
            return load(first, sp_) && move(a64::signed_field(instruction, 12, 9));
        if ((instruction & 0xffe00fe0) == 0xf8000fe0)  // str x, [sp, #-N]!
            return move(a64::signed_field(instruction, 12, 9));
        return false;
    }

    bool load(unsigned number, std::int64_t from) {
        // A value that is stored on the way is the one that the register holds now.
        if (number < slots_.size()) slots_[number] = from >= 0 ? from : nowhere;
        loads_return_address_ = loads_return_address_ || number == 30;
        return true;
    }

    bool move(std::int64_t by) {
        constexpr std::int64_t largest = 1 << 20;
        sp_ += by;
        return sp_ > -largest && sp_ < largest;
    }

    std::uint64_t address_;
    std::int64_t sp_ = 0;
    bool loads_return_address_ = false;
    std::array<std::int64_t, 31> slots_ = [] {
        std::array<std::int64_t, 31> none{};
        none.fill(nowhere);
        return none;
    }();
};

}  // namespace

bool epilogue_rule(std::uint64_t address, UnwindRule& rule) {
    if (address % 4 != 0) return false;
    EpilogueWalk way(address);
    if (!way.to_return() || way.sp() < 0 || !way.loads_return_address()) return false;
    const auto size = static_cast<std::int32_t>(way.sp());
    const auto slot = [&](std::int64_t at) {
        return at == EpilogueWalk::nowhere ? UnwindRule::same : static_cast<std::int32_t>(at) - size;
    };
    const std::int32_t link = slot(way.return_address());
    rule.set_frame_above_sp(size, link, slot(way.frame_pointer()), link);
    return true;
}

}  // namespace flameprobe
