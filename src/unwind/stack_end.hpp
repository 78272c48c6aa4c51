// Whether a stack ends at a frame, by the words that lie above it.
#pragma once

#include <cstdint>

#include "unwind/call_check.hpp"
#include "unwind/cursor.hpp"
#include "unwind/stack_reader.hpp"
#include "unwind/unwind_rule.hpp"

namespace flameprobe {

/// `Rules` and `Cpu` as for Walker.
template <class Rules, class Cpu>
class StackEnd {
public:
    StackEnd(Rules& rules, StackReader& stack) : rules_(rules), stack_(stack) {}

    /// Whether no frame seems to lie above. Where tables are wrong for a moment (libgcc's change to a landing pad) any
    /// word may be taken for the return address, and profilers that redirect returns (uftrace) put a function's address
    /// into every frame. `last`: the address of the last frame. `linked`: it is certain, so what calls another function
    /// is not its caller; what makes coroutines may keep their saved registers there, or other stacks.
    bool nothing_above(const Cursor& cursor, std::uint64_t last, bool linked) {
        constexpr std::uint64_t words = 512;
        std::uint64_t word = 0;
        for (std::uint64_t slot = cursor.sp, end = slot + 8 * words; slot < end && stack_.holds(slot); slot += 8) {
            if (!stack_.word(slot, word) || word == 0) continue;
            word = Cpu::strip(word);
            if ((word == cursor.pc && !leads_nowhere<Cpu>(word)) ||
                (rules_.follows_any_call(word) && (!linked || may_have_called(word, last))))
                return false;
        }
        return true;
    }

    /// Whether the first return address above code without tables is that of a stack's first call (musl's start code).
    /// The true one is among the words above, so what stale words hold can only make it say no.
    bool is_called_first(const Cursor& cursor) {
        constexpr std::uint64_t words = 64;
        std::uint64_t word = 0;
        for (std::uint64_t slot = cursor.sp; slot < cursor.sp + 8 * words && stack_.word(slot, word); slot += 8)
            if (rules_.rule(word - 1) != nullptr && rules_.follows_any_call(word)) return rules_.is_first_call(word);
        return false;
    }

private:
    /// Whether the last frame may have been called from there. Code without tables may call by ways of its own.
    bool may_have_called(std::uint64_t return_address, std::uint64_t last) {
        if (rules_.judge_call(return_address, last) != CallCheck::Verdict::no) return true;
        const UnwindRule* const rule = rules_.rule(return_address - 1);
        return rule == nullptr || rule->kind == RuleKind::no_cfi;
    }

    Rules& rules_;
    StackReader& stack_;
};

}  // namespace flameprobe
