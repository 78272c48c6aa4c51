// The registers a walk carries from frame to frame, and where a frame has saved them.
#pragma once

#include <cstdint>

#include "unwind/stack_reader.hpp"
#include "unwind/unwind_rule.hpp"

namespace flameprobe {

struct Cursor {
    /// Stands for a register of a blocked thread that only the kernel knows. Not a canonical address, so every read
    /// relative to it fails.
    static constexpr std::uint64_t unknown = 0xdead'0000'dead'0000;

    std::uint64_t pc = 0, sp = 0, fp = 0, third = 0;
    bool interrupted = true;  // execution stands at pc: the leaf, and what a signal handler interrupted
    bool doubtful = false;    // a frame was crossed without CFI: from here on every return address must follow a call

    std::uint64_t base(RuleBase which) const { return which == RuleBase::sp ? sp : which == RuleBase::fp ? fp : third; }
    std::uint64_t lookup() const { return interrupted ? pc : pc - 1; }
    /// To a caller that no table proves.
    void move_to_doubtful(std::uint64_t caller_pc, std::uint64_t caller_sp) {
        pc = caller_pc;
        sp = caller_sp;
        interrupted = false;
        doubtful = true;
    }
};

inline constexpr std::uint64_t largest_frame = std::uint64_t{1} << 32;  // bytes

inline std::uint64_t as_offset(std::int32_t value) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

/// Whether this return address, of the first function on a coroutine's stack, cannot be one of code: zero, -1 and other
/// numbers outside of a program's memory, minicoro's placeholder. Any other may lie in a mapping that was not read yet.
template <class Cpu>
bool leads_nowhere(std::uint64_t return_address) {
    constexpr std::uint64_t first_page = 4096, beyond_all = std::uint64_t{1} << 56, minicoro = 0xdeaddeaddeaddead;
    return return_address < first_page || return_address >= beyond_all || return_address == Cpu::strip(minicoro);
}

/// One frame, which has saved registers of its caller.
struct SavedFrame {
    const Cursor cursor;
    const std::uint64_t cfa;
    const bool signal_frame;

    std::uint64_t at(SlotOrigin origin) const {
        switch (origin) {
            case SlotOrigin::cfa:
                return cfa;
            case SlotOrigin::sp:
                return cursor.sp;
            case SlotOrigin::fp:
                return cursor.fp;
            default:
                return cursor.third;
        }
    }

    /// Sets `value` to the caller's, from its slot; false: the slot is not in the known stack. Slots lie between SP and
    /// CFA, and others are not read: one below SP was popped by an epilogue, and one above the CFA comes from gcc's
    /// rule "rbp is at rbp + 0" that outlives `leave` where gcc realigned the stack. In both cases the register has the
    /// caller's value again.
    bool restore(StackReader& stack, SlotOrigin origin, std::int32_t slot, std::uint64_t& value) const {
        if (slot == UnwindRule::same) return true;
        if (slot == UnwindRule::lost) return value = Cursor::unknown, true;
        const std::uint64_t address = at(origin) + as_offset(slot);
        if (address - cursor.sp >= cfa - cursor.sp && !signal_frame) return true;
        return stack.word(address, value);
    }
};

}  // namespace flameprobe
