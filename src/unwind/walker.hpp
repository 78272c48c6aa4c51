// The walk itself: from a cursor and rules to frames. A template, so that tests walk over rules made by hand, and so
// that the loop over remembered rules is one piece of code without indirect calls.
#pragma once

#include <optional>
#include <type_traits>

#include "cpu/registers.hpp"
#include "unwind/call_check.hpp"
#include "unwind/cursor.hpp"
#include "unwind/no_cfi_steps.hpp"
#include "unwind/stack_end.hpp"
#include "unwind/stack_reader.hpp"

namespace flameprobe {

/// `Rules` gives what a walk needs beside stack and registers. Each call may invalidate the rule that was given before:
///   const UnwindRule* rule(lookup)                            null: not code
///   bool follows_any_call(return_address)
///   CallCheck::Verdict judge_call(return_address, callee)
///   std::optional<WalkEnd> step_irregular(Cursor&, StackReader&)
///   const UnwindRule* frame_of_called(return_address, inside)
///   bool leave_called(return_address, Cursor&, StackReader&)
///   bool calls_on_new_stack(return_address)
///   bool never_returns(address)
///   bool is_first_call(return_address)
///   bool leaf_register(cursor, number, value&)      false where the cursor is not at the leaf
/// frame_of_called gives the rule of the function that is called right before the return address, if one rule holds
/// from its first instruction to its last, and `inside`, unless it is 0, lies in it; else null. leave_called moves the
/// cursor to the caller by the last rule of the function that is called there, if that is no usual one. `Recovery`
/// (FrameRecovery, or none) finds registers that are Cursor::unknown.
template <class Rules, bool frame_pointers, class Cpu = Arch, class Recovery = void>
class Walker {
public:
    Walker(Rules& rules, StackReader& stack, Walk& out, Recovery* recovery = nullptr)
        : rules_(rules),
          stack_(stack),
          out_(out),
          recovery_(recovery),
          no_cfi_(rules, stack),
          stack_end_(rules, stack) {}

    void walk(Cursor cursor, std::size_t most_frames) {
        out_.frames.clear();
        out_.frames_in_copy = 0;
        new_stacks_ = 0;
        std::optional<WalkEnd> end;
        do {
            end = out_.frames.size() < most_frames ? frame(cursor) : WalkEnd::too_deep;
        } while (!end);
        out_.end = *end;
        if constexpr (frame_pointers) take_back_tail();
        out_.frames_in_copy =
            std::min(stack_.beyond_end() == 0 ? out_.frames.size() : out_.frames_in_copy, out_.frames.size());
        out_.beyond_end = stack_.beyond_end();
    }

private:
    using End = std::optional<WalkEnd>;  // nothing: the cursor is at the caller now

    End frame(Cursor& cursor) {
        std::uint64_t lookup = cursor.lookup();
        const UnwindRule* rule = rules_.rule(lookup);
        if (rule == nullptr) return not_code(cursor);
        if (rule->starts_stack != StackStart::no && !cursor.interrupted && rule->kind != RuleKind::root) {
            if (is_start(rule->starts_stack, cursor)) return WalkEnd::root;
            // No call instruction ends at this return address, so no caller is there.
            const bool is_sure = rules_.rule(lookup)->starts_stack == StackStart::untabled || cursor.doubtful;
            if (!frame_pointers && is_sure && !rules_.follows_any_call(cursor.pc)) return WalkEnd::no_unwind_info;
            rule = rules_.rule(lookup);
        }
        // A thread in the kernel stands after its `syscall`, which may be its function's last instruction.
        if (rule->after_syscall && cursor.interrupted) rule = before_syscall(lookup);
        const std::size_t index = out_.frames.size();
        out_.frames.push_back({lookup, cursor.sp, rule->region});
        if (stack_.beyond_end() == 0) out_.frames_in_copy = index + 1;
        if (rule->kind == RuleKind::root) return WalkEnd::root;
        const std::uint64_t sp = cursor.sp;
        const std::size_t new_stacks = new_stacks_;
        // Where the return address is in a register, the leaf may use no stack at all.
        const bool in_register = Cpu::return_address_in_register || rule->ra_register != UnwindRule::none;
        const std::uint64_t least_growth = in_register && cursor.interrupted ? 0 : 1;
        const End end = step(*rule, lookup, cursor);
        if (!end) {
            stack_.approach(cursor.sp);
            out_.frames[index].cfa = cursor.sp;
            // Across a signal frame the stack may be any other one (sigaltstack), and where a function called on a new
            // stack; everywhere else it only unwinds.
            if (cursor.sp < sp + least_growth && !cursor.interrupted && new_stacks_ == new_stacks)
                return WalkEnd::bad_cfa;
        }
        return end;
    }

    End not_code(const Cursor& cursor) {
        if (!out_.frames.empty()) {
            const bool linked = is_linked(cursor);
            if (!leads_nowhere<Cpu>(cursor.pc) && !(linked && last_is_trap(cursor))) return WalkEnd::bad_return;
            if (!last_was_called()) return WalkEnd::bad_return;
            if (!frame_pointers && cursor.doubtful && !linked) return WalkEnd::no_unwind_info;
            // Zeros in both places are the end of a stack by the psABI, whatever lies above.
            const bool ends = (linked && cursor.pc == 0 && cursor.fp == 0) ||
                              stack_end_.nothing_above(cursor, out_.frames.back().address, linked);
            return ends ? WalkEnd::root : WalkEnd::bad_return;
        }
        out_.frames.push_back({cursor.lookup(), cursor.sp, CodeFrame::no_region});
        out_.frames_in_copy = 1;
        return WalkEnd::no_unwind_info;
    }

    /// Whether the frame below was never called: the first of a coroutine.
    bool is_start(StackStart proof, const Cursor& cursor) {
        if (proof == StackStart::by_bytes) return true;
        const bool linked = is_linked(cursor);
        if (!frame_pointers && cursor.doubtful && !linked) return false;
        const auto call = rules_.judge_call(cursor.pc, out_.frames.back().address);
        return call == CallCheck::Verdict::no && last_was_called() &&
               stack_end_.nothing_above(cursor, out_.frames.back().address, linked);
    }
    /// Whether the last frame has no caller, since its code leads to a trap and what should be its return address to
    /// none.
    bool last_is_trap(const Cursor& cursor) {
        return out_.frames.size() > 1 && rules_.rule(cursor.pc - 1) == nullptr &&
               rules_.never_returns(out_.frames.back().address + 1);
    }
    bool last_was_called() {
        return out_.frames.size() == 1 || rules_.follows_any_call(out_.frames.back().address + 1);
    }
    /// Whether the last frame has called the one below; where that is doubtful, whether every frame has.
    bool is_linked(const Cursor& cursor) {
        const auto& frames = out_.frames;
        if (frames.size() < 2 || frame_pointers) return false;
        const std::size_t first = cursor.doubtful ? 1 : frames.size() - 1;
        for (std::size_t at = first; at < frames.size(); ++at) {
            const auto call = rules_.judge_call(frames[at].address + 1, frames[at - 1].address);
            if (call == CallCheck::Verdict::no) return false;
        }
        return true;
    }

    const UnwindRule* before_syscall(std::uint64_t& lookup) {
        const UnwindRule* const rule = rules_.rule(lookup - 1);
        if (rule != nullptr && rule->kind != RuleKind::no_cfi) {
            --lookup;
            return rule;
        }
        return rules_.rule(lookup);
    }

    End step(const UnwindRule& rule, std::uint64_t lookup, Cursor& cursor) {
        if constexpr (frame_pointers) {
            if (!rule.signal_frame) return step_frame_pointer_first(rule, lookup, cursor);
        }
        switch (rule.kind) {
            case RuleKind::step:
                return cursor.interrupted ? step_from_leaf(rule, lookup, cursor)
                                          : checked(step_by_rule(rule, cursor), cursor);
            case RuleKind::irregular:
                return checked(rules_.step_irregular(cursor, stack_), cursor);
            default:
                return step_without_cfi(rule, lookup, cursor);
        }
    }

    /// LuaJIT's interpreter, one function with one frame, calls parts of itself, and its tables do not count that
    /// return address: where the rule leads to no code, the caller is looked for on the stack.
    End step_from_leaf(const UnwindRule& rule, std::uint64_t lookup, Cursor& cursor) {
        Cursor before = cursor;
        const End end = checked(step_by_rule(rule, cursor), cursor);
        if (end || rules_.rule(cursor.lookup()) != nullptr || no_cfi_.from_shared_frame(before, lookup)) return end;
        cursor = before;
        return end;
    }

    End checked(End end, const Cursor& cursor) {
        if (end || !cursor.doubtful || cursor.interrupted || rules_.follows_any_call(cursor.pc) ||
            no_cfi_.needs_no_call(cursor.pc) ||
            ((frame_pointers || out_.frames.size() > 1) && no_cfi_.starts_stack(cursor.pc)) || last_is_trap(cursor))
            return end;
        return WalkEnd::no_unwind_info;
    }

    End step_by_rule(const UnwindRule& known, Cursor& cursor) {
        if constexpr (!std::is_void_v<Recovery>) {
            const UnwindRule rule = known;  // recovery may invalidate `known`
            if (cursor.base(rule.base) == Cursor::unknown &&
                (rule.base != RuleBase::fp || !recovery_->frame_pointer(rule, cursor)))
                return WalkEnd::unknown_register;
            return follow(rule, cursor);
        } else {
            return follow(known, cursor);
        }
    }

    End follow(const UnwindRule& rule, Cursor& cursor) {
        const std::uint64_t base = cursor.base(rule.base);
        std::uint64_t cfa = base + as_offset(rule.cfa_offset);
        if (rule.cfa_is_loaded && !stack_.word(cfa, cfa)) return WalkEnd::truncated;
        if (cfa - cursor.sp >= largest_frame && !rule.signal_frame && !is_of_two_stacks(rule, cursor))
            return WalkEnd::bad_cfa;
        const SavedFrame here{cursor, cfa, rule.signal_frame};
        std::uint64_t pc = cursor.pc;
        if constexpr (Cpu::return_address_in_register) pc = cursor.third;
        if (rule.ra_register != UnwindRule::none) {
            if (!rules_.leaf_register(cursor, rule.ra_register, pc)) return WalkEnd::no_unwind_info;
        } else if (!here.restore(stack_, rule.ra_origin, rule.ra_slot, pc)) {
            return WalkEnd::truncated;
        }
        if (!here.restore(stack_, rule.fp_origin, rule.fp_slot, cursor.fp) ||
            !here.restore(stack_, rule.third_origin, rule.third_slot, cursor.third))
            return WalkEnd::truncated;
        cursor.pc = rule.signal_frame ? pc : Cpu::strip(pc);
        cursor.sp = cfa;
        cursor.interrupted = rule.signal_frame;
        return std::nullopt;
    }

    /// Whether the frame lies on the stack that its function has left, to call the frame below on another.
    bool is_of_two_stacks(const UnwindRule& rule, const Cursor& cursor) {
        constexpr std::size_t most = 4096;  // a damaged stack may lead round in a circle
        if (rule.base != RuleBase::fp || cursor.interrupted || cursor.doubtful || new_stacks_ == most ||
            !rules_.calls_on_new_stack(cursor.pc))
            return false;
        ++new_stacks_;
        return true;
    }

    /// By the rule of the epilogue that the code is in, if that leads behind a call; else as the stack proves
    /// (NoCfiSteps).
    End step_without_cfi(const UnwindRule& rule, std::uint64_t lookup, Cursor& cursor) {
        const UnwindRule code = rule;  // the calls below may invalidate `rule`
        if (code.from_code) {
            Cursor caller = cursor;
            caller.doubtful = true;
            if (!checked(step_by_rule(code, caller), caller)) {
                cursor = caller;
                return std::nullopt;
            }
        }
        const Cursor here = cursor;
        const End end = no_cfi_.step(code, lookup, cursor);
        return end && code.in_file && (is_trampoline(here) || (!here.interrupted && stack_end_.is_called_first(here)))
                   ? WalkEnd::root
                   : end;
    }

    /// Whether code without tables is where a coroutine's stack begins: it called the first function, goes on to a trap
    /// behind that call, and has no caller itself.
    bool is_trampoline(const Cursor& cursor) {
        return !cursor.interrupted && is_linked(cursor) && rules_.never_returns(cursor.pc) &&
               stack_end_.nothing_above(cursor, out_.frames.back().address, true);
    }

    /// By frame pointer, with two exceptions that go by CFI. The innermost frame: prologues, epilogues and leaf
    /// functions have no frame record, so its caller would be lost. And the last frames, if they reach the root: the C
    /// library's start code keeps no frame pointer where the program does.
    End step_frame_pointer_first(const UnwindRule& rule, std::uint64_t lookup, Cursor& cursor) {
        const UnwindRule current = rule;  // the calls below may invalidate `rule`
        cursor.doubtful = true;
        if (cursor.interrupted && current.kind == RuleKind::irregular)
            return checked(rules_.step_irregular(cursor, stack_), cursor);
        if (cursor.interrupted && current.kind == RuleKind::step) return checked(step_by_rule(current, cursor), cursor);
        if (tail_ == 0) {
            const End end = no_cfi_.by_frame_pointer(current, lookup, cursor);
            if (!end || end == WalkEnd::truncated || cursor.interrupted) return end;
            tail_ = out_.frames.size();
        }
        if (current.kind != RuleKind::step || out_.frames.size() - tail_ >= longest_tail)
            return WalkEnd::no_unwind_info;
        return checked(step_by_rule(current, cursor), cursor);
    }
    void take_back_tail() {
        if (tail_ == 0 || out_.end == WalkEnd::root) return;
        out_.frames.resize(tail_);
        out_.end = WalkEnd::no_unwind_info;
    }

    static constexpr std::size_t longest_tail = 4;

    Rules& rules_;
    StackReader& stack_;
    Walk& out_;
    [[maybe_unused]] Recovery* const recovery_;
    NoCfiSteps<Rules, Cpu> no_cfi_;
    StackEnd<Rules, Cpu> stack_end_;
    std::size_t new_stacks_ = 0;  // how many frames so far lie on two stacks
    std::size_t tail_ = 0;        // frames found by frame pointer when the CFI took over
};

}  // namespace flameprobe
