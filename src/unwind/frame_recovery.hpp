// The frame pointer of a blocked thread's frame, when only pc and sp are known: the kernel keeps the other registers to
// itself. Taken only where the stack proves it, since a wrong one would give a wrong caller.
#pragma once

#include <cstdint>
#include <optional>

#include "unwind/call_check.hpp"
#include "unwind/code_bytes.hpp"
#include "unwind/cursor.hpp"
#include "unwind/stack_reader.hpp"

namespace flameprobe {

/// `Rules` as for Walker, and function_start(lookup): where the function begins, 0 if that is not known.
template <class Rules>
class FrameRecovery {
public:
    FrameRecovery(Rules& rules, StackReader& stack) : rules_(rules), stack_(stack) {}

    /// Sets cursor.fp for a frame whose CFA is relative to it by `rule`. False: nothing proves its value.
    bool frame_pointer(const UnwindRule& rule, Cursor& cursor) {
        if (rule.kind != RuleKind::step) return false;
        const std::uint64_t lookup = cursor.lookup();
        auto found = by_prologue(rule, cursor, lookup);
        if (!found) found = by_unique_call(rule, cursor, lookup);
        if (found) cursor.fp = *found;
        return found.has_value();
    }

private:
    using Verdict = CallCheck::Verdict;

    /// Judges the return address that the frame has if its frame pointer is `fp`.
    Verdict verdict(const UnwindRule& rule, std::uint64_t lookup, std::uint64_t fp) {
        constexpr std::uint64_t most_realignment = 4096, first_page = 4096;
        std::uint64_t cfa = fp + static_cast<std::uint64_t>(static_cast<std::int64_t>(rule.cfa_offset));
        std::uint64_t returns_to = 0;
        if (rule.cfa_is_loaded) {
            // A realigned frame has a copy of the return address above the frame pointer, as gcc makes it.
            std::uint64_t copy = 0;
            if (!stack_.word(cfa, cfa) || cfa - fp - 1 >= most_realignment || !stack_.word(cfa - 8, returns_to) ||
                !stack_.word(fp + 8, copy) || copy != returns_to)
                return Verdict::no;
        } else if (!stack_.word(cfa - 8, returns_to)) {
            return Verdict::no;
        }
        return returns_to < first_page ? Verdict::no : rules_.judge_call(returns_to, lookup);
    }

    /// The prologue says how far the frame pointer lies above SP; a call to this function stands before the address
    /// that it would return to.
    std::optional<std::uint64_t> by_prologue(const UnwindRule& rule, const Cursor& cursor, std::uint64_t lookup) {
        const std::uint64_t start = rules_.function_start(lookup);
        const auto distance = start == 0 ? std::nullopt : frame_pointer_above_sp(start);
        if (!distance || verdict(rule, lookup, cursor.sp + *distance) == Verdict::no) return std::nullopt;
        return cursor.sp + *distance;
    }

    /// The only frame pointer whose return address follows a call to this function, or to one that jumps to it. Stale
    /// stack may hold more such addresses: then none is taken.
    std::optional<std::uint64_t> by_unique_call(const UnwindRule& rule, const Cursor& cursor, std::uint64_t lookup) {
        constexpr std::uint64_t farthest = 16 * 1024;
        std::optional<std::uint64_t> found;
        for (std::uint64_t fp = cursor.sp - 8; fp != cursor.sp + farthest; fp += 8) {
            const Verdict call = verdict(rule, lookup, fp);
            if (call != Verdict::certain && call != Verdict::tail_call) continue;
            if (found) return std::nullopt;
            found = fp;
        }
        return found;
    }

    Rules& rules_;
    StackReader& stack_;
};

}  // namespace flameprobe
