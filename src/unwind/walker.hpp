// The walk itself: from a cursor and rules to frames. A template, so that tests walk over rules made by hand, and so
// that the loop over remembered rules is one piece of code without indirect calls.
#pragma once

#include <optional>
#include <type_traits>

#include "cpu/arch.hpp"
#include "unwind/call_check.hpp"
#include "unwind/cursor.hpp"
#include "unwind/stack_reader.hpp"

namespace flameprobe {

/// What a walk needs beside stack and registers:
///   const UnwindRule* rule(std::uint64_t lookup)                 null: not code; valid until the next call of any of
///   these bool follows_any_call(std::uint64_t return_address) CallCheck::Verdict judge_call(std::uint64_t
///   return_address, std::uint64_t callee) std::optional<WalkEnd> step_irregular(Cursor&, StackReader&)    like
///   step_by_rule
///   const UnwindRule* frame_of_called(std::uint64_t return_address, std::uint64_t inside)    of the function that is
///   called before it, if that has one frame from its first instruction to its last, and `inside`, unless it is 0, lies
///   in it; else null
/// `Recovery` (FrameRecovery, or none) finds registers that are Cursor::unknown.
template <class Rows, bool frame_pointers, class Cpu = Arch, class Recovery = void>
class Walker {
public:
    Walker(Rows& rules, StackReader& stack, Walk& out, Recovery* recovery = nullptr)
        : rules_(rules), stack_(stack), out_(out), recovery_(recovery) {}

    void walk(Cursor cursor, std::size_t most_frames) {
        out_.frames.clear();
        out_.frames_in_copy = 0;
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
        // In the kernel a thread stands behind its `syscall`, which may be its function's last instruction.
        if (rule->after_syscall && cursor.interrupted) rule = before_syscall(lookup);
        const std::size_t index = out_.frames.size();
        out_.frames.push_back({lookup, cursor.sp, rule->region});
        if (stack_.beyond_end() == 0) out_.frames_in_copy = index + 1;
        if (rule->kind == RuleKind::root) return WalkEnd::root;
        const std::uint64_t sp = cursor.sp;
        // Where the call leaves the return address in a register, a leaf function may use no stack at all.
        const std::uint64_t least_growth = Cpu::return_address_in_register && cursor.interrupted ? 0 : 1;
        const End end = step(*rule, lookup, cursor);
        if (!end) {
            stack_.approach(cursor.sp);
            out_.frames[index].cfa = cfa_;
            // Across a signal frame the stack may be any other one (sigaltstack); everywhere else it only unwinds.
            if (cursor.sp < sp + least_growth && !cursor.interrupted) return WalkEnd::bad_cfa;
        }
        return end;
    }

    End not_code(const Cursor& cursor) {
        if (!out_.frames.empty()) return WalkEnd::bad_return;
        out_.frames.push_back({cursor.lookup(), cursor.sp, CodeFrame::no_region});
        out_.frames_in_copy = 1;
        return WalkEnd::no_unwind_info;
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
                return checked(step_irregular(cursor), cursor);
            default:
                return step_without_cfi(rule, lookup, cursor);
        }
    }

    /// An interpreter that is one piece of code with one frame calls parts of itself, whose return address its tables
    /// do not count.
    End step_from_leaf(const UnwindRule& rule, std::uint64_t lookup, Cursor& cursor) {
        Cursor before = cursor;
        const End end = checked(step_by_rule(rule, cursor), cursor);
        if (end || rules_.rule(cursor.lookup()) != nullptr || step_from_shared_frame(before, lookup)) return end;
        cursor = before;
        return end;
    }

    End checked(End end, const Cursor& cursor) {
        if (!end && cursor.doubtful && !cursor.interrupted && !rules_.follows_any_call(cursor.pc) &&
            !needs_no_call(cursor.pc))
            return WalkEnd::no_unwind_info;
        return end;
    }

    /// A signal handler returns to the interrupted instruction, and a goroutine's first function to behind a nop.
    bool needs_no_call(std::uint64_t return_address) {
        const UnwindRule* const rule = rules_.rule(return_address - 1);
        return rule != nullptr && (rule->signal_frame || rule->uncalled);
    }

    End step_irregular(Cursor& cursor) {
        const End end = rules_.step_irregular(cursor, stack_);
        cfa_ = cursor.sp;
        return end;
    }

    End step_by_rule(const UnwindRule& known, Cursor& cursor) {
        if constexpr (!std::is_void_v<Recovery>) {
            const UnwindRule rule = known;  // recovery moves the cache
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
        std::uint64_t cfa = base + offset(rule.cfa_offset);
        if (rule.cfa_is_loaded && !stack_.word(cfa, cfa)) return WalkEnd::truncated;
        if (cfa - cursor.sp >= largest_frame && !rule.signal_frame) return WalkEnd::bad_cfa;
        const Frame here{cursor, cfa, rule.signal_frame};
        std::uint64_t pc = cursor.pc;
        if constexpr (Cpu::return_address_in_register) pc = cursor.third;
        if (!restore(here, rule.ra_origin, rule.ra_slot, pc) ||
            !restore(here, rule.fp_origin, rule.fp_slot, cursor.fp) ||
            !restore(here, rule.third_origin, rule.third_slot, cursor.third))
            return WalkEnd::truncated;
        cursor.pc = rule.signal_frame ? pc : Cpu::strip(pc);
        cursor.sp = cfa_ = cfa;
        cursor.interrupted = rule.signal_frame;
        return std::nullopt;
    }

    struct Frame {
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
    };

    /// A frame's slots lie between SP and CFA. One below SP holds nothing any more (an epilogue has popped it), and one
    /// above the CFA comes from gcc's rule "rbp is at rbp + 0" that outlives `leave` where it realigned the stack: in
    /// both cases the register has its value back already.
    bool restore(const Frame& here, SlotOrigin origin, std::int32_t slot, std::uint64_t& value) {
        if (slot == UnwindRule::same) return true;
        const std::uint64_t address = here.at(origin) + offset(slot);
        if (address - here.cursor.sp >= here.cfa - here.cursor.sp && !here.signal_frame) return true;
        return stack_.word(address, value);
    }

    /// Code without CFI has no frame that is certain, so a return address is believed only if it follows a call to
    /// this very code: the one in the frame record, or else, where no record is ever set up, the first on the stack. A
    /// record may be the caller's, so one whose call could be to anything is taken only if nothing below it is certain.
    End step_without_cfi(const UnwindRule& rule, std::uint64_t lookup, Cursor& cursor) {
        const UnwindRule code = rule;  // the calls below may move the cache
        if (code.leads_out) {
            Cursor caller = cursor;
            caller.doubtful = true;
            if (!checked(step_by_rule(code, caller), caller)) {
                cursor = caller;
                return std::nullopt;
            }
        }
        const bool pushing = cursor.interrupted && code.record != RecordState::made;
        const bool interpreter = !code.keeps_records && !pushing && !code.in_file &&
                                 returns_to_run_time_code(cursor.fp) && records_lead_out(cursor.fp);
        if (interpreter && cursor.interrupted && returns_from_top(lookup, cursor)) return std::nullopt;
        if (code.keeps_records || pushing || interpreter) {
            Cursor caller = cursor;
            if (!step_by_frame_pointer(code, lookup, caller)) {
                const bool certain = rules_.judge_call(caller.pc, lookup) == CallCheck::Verdict::certain;
                if (!certain && code.in_file && !step_by_scan(lookup, cursor, caller.sp)) return std::nullopt;
                cursor = caller;
                cfa_ = caller.sp;
                return std::nullopt;
            }
        }
        if (Cpu::return_address_in_register && cursor.interrupted && step_by_link_register(code, lookup, cursor))
            return std::nullopt;
        // Where code is made at run time, nothing says where one function ends: a call into it proves too little.
        return code.in_file ? step_by_scan(lookup, cursor, ~std::uint64_t{0}) : step_from_shared_frame(cursor, 0);
    }

    /// Code made at run time that is jumped into and goes on in the frame of what jumped, as LuaJIT's traces do in its
    /// interpreter's: the whole interpreter is one piece of code with one frame, and a call names it. The first such
    /// call on the stack whose frame has room above what the trace has pushed is the one. `inside`: an address that
    /// must lie in what is called, unless it is 0.
    End step_from_shared_frame(Cursor& cursor, std::uint64_t inside) {
        constexpr std::uint64_t words = 512;
        for (std::uint64_t slot = cursor.sp, end = slot + 8 * words; slot < end; slot += 8) {
            std::uint64_t word = 0;
            if (!stack_.word(slot, word)) break;
            const UnwindRule* const frame = rules_.frame_of_called(word, inside);
            const std::uint64_t cfa = slot + 8;
            if (frame == nullptr || cfa - cursor.sp < static_cast<std::uint64_t>(frame->cfa_offset)) continue;
            const Frame here{cursor, cfa, false};
            if (!restore(here, frame->fp_origin, frame->fp_slot, cursor.fp) ||
                !restore(here, frame->third_origin, frame->third_slot, cursor.third))
                return WalkEnd::truncated;
            cursor.pc = word;
            cursor.sp = cfa_ = cfa;
            cursor.interrupted = false;
            cursor.doubtful = true;
            return std::nullopt;
        }
        return WalkEnd::no_unwind_info;
    }

    /// Else the record may be that of what called this code, which keeps none itself: the caller would be lost.
    bool returns_to_run_time_code(std::uint64_t record) {
        std::uint64_t pc = 0;
        if (record % 8 != 0 || !stack_.word(record + 8, pc)) return false;
        const UnwindRule* const rule = rules_.rule(pc - 1);
        return rule != nullptr && rule->kind == RuleKind::no_cfi && !rule->in_file;
    }

    /// Whether each record from this one on leads to one above it, through code without tables, until one returns
    /// behind a call in code that has them. A JVM's interpreter is a megabyte of pieces that mostly set up no record,
    /// and what it calls returns to places behind no call: such a chain is believed as a whole or not at all.
    bool records_lead_out(std::uint64_t record) {
        constexpr std::uint64_t most_records = 1024, largest = std::uint64_t{1} << 20;
        if (record >= chain_from_ && record <= chain_to_) return true;
        std::uint64_t at = record;
        for (std::uint64_t nth = 0; nth < most_records; ++nth) {
            std::uint64_t next = 0, pc = 0;
            if (at % 8 != 0) return false;
            // The rest lies beyond the copy: what has been seen of it is the start of a chain.
            if (!stack_.word(at, next) || !stack_.word(at + 8, pc)) return nth > 1;
            const UnwindRule* const rule = rules_.rule(pc - 1);
            if (rule == nullptr) return false;
            const bool tables = rule->kind != RuleKind::no_cfi;
            if ((tables || rule->in_file) && !rules_.follows_any_call(pc)) return false;
            if (tables) {
                chain_from_ = record;
                chain_to_ = at;
                return true;
            }
            if (next <= at || next - at >= largest) return false;
            at = next;
        }
        return false;
    }

    /// A piece without a frame of its own, which something called.
    bool returns_from_top(std::uint64_t lookup, Cursor& cursor) {
        std::uint64_t pc = 0;
        if (Cpu::return_address_in_register || cursor.sp >= cursor.fp || !stack_.word(cursor.sp, pc) ||
            rules_.judge_call(pc, lookup) == CallCheck::Verdict::no)
            return false;
        cursor.pc = pc;
        cursor.sp = cfa_ = cursor.sp + 8;
        cursor.interrupted = false;
        cursor.doubtful = true;
        return true;
    }

    /// Code that has not saved its return address, or has it back. A call that might be to anything is enough where the
    /// code says so (a prologue, a return), or where no code around ever saves one, as in the vdso.
    bool step_by_link_register(const UnwindRule& rule, std::uint64_t lookup, Cursor& cursor) {
        const std::uint64_t pc = Cpu::strip(cursor.third);
        const auto verdict = rules_.judge_call(pc, lookup);
        const bool told_by_code = rule.record != RecordState::made || !rule.keeps_records;
        if (verdict == CallCheck::Verdict::no || (verdict == CallCheck::Verdict::possible && !told_by_code))
            return false;
        cursor.pc = pc;
        cfa_ = cursor.sp;
        cursor.interrupted = false;
        cursor.doubtful = true;
        return true;
    }

    End step_by_scan(std::uint64_t lookup, Cursor& cursor, std::uint64_t below) {
        constexpr std::uint64_t words = 128;
        for (std::uint64_t slot = cursor.sp, end = std::min(slot + 8 * words, below); slot < end; slot += 8) {
            std::uint64_t word = 0;
            if (!stack_.word(slot, word)) return WalkEnd::truncated;
            word = Cpu::strip(word);
            if (rules_.judge_call(word, lookup) != CallCheck::Verdict::certain) continue;
            cursor.pc = word;
            cursor.sp = cfa_ = slot + 8;
            cursor.interrupted = false;
            cursor.doubtful = true;
            return std::nullopt;
        }
        return WalkEnd::no_unwind_info;
    }

    End step_by_frame_pointer(const UnwindRule& rule, std::uint64_t lookup, Cursor& cursor) {
        const RecordState state = cursor.interrupted ? rule.record : RecordState::made;
        if (Cpu::return_address_in_register && state != RecordState::made)
            return step_by_link_register(rule, lookup, cursor) ? End() : WalkEnd::no_unwind_info;
        std::uint64_t record = cursor.fp;
        if (state != RecordState::made) record = cursor.sp - (state == RecordState::before ? 8 : 0);
        const bool above = state != RecordState::made || record >= cursor.sp;
        if (record % 8 != 0 || !above || record - cursor.sp + 8 >= largest_frame) return WalkEnd::no_unwind_info;
        std::uint64_t fp = cursor.fp, pc = 0;
        if (!stack_.word(record + 8, pc)) return WalkEnd::truncated;
        if (state != RecordState::before && !stack_.word(record, fp)) return WalkEnd::truncated;
        pc = Cpu::strip(pc);
        if (!returns_from(rule, lookup, pc) && !needs_no_call(pc) && !returns_to_interpreter(record, pc))
            return WalkEnd::no_unwind_info;
        cursor.pc = pc;
        cursor.fp = fp;
        cursor.sp = cfa_ = record + Cpu::frame_record_size;
        cursor.interrupted = false;
        cursor.doubtful = true;
        return std::nullopt;
    }

    bool returns_to_interpreter(std::uint64_t record, std::uint64_t return_address) {
        const UnwindRule* const rule = rules_.rule(return_address - 1);
        return rule != nullptr && rule->kind == RuleKind::no_cfi && !rule->in_file && records_lead_out(record);
    }

    /// With CFI (the unwinder by frame pointers) a tail call may have put another function into the called one's place.
    bool returns_from(const UnwindRule& rule, std::uint64_t lookup, std::uint64_t return_address) {
        if (rule.kind != RuleKind::no_cfi) return rules_.follows_any_call(return_address);
        return rules_.judge_call(return_address, lookup) != CallCheck::Verdict::no;
    }

    /// Two frames go by CFI even so. The innermost one, because prologues, epilogues and leaf functions have no frame
    /// record, and its caller would be lost. And the C library's start code, which keeps no frame pointer where the
    /// program does: the last frames, but only if they reach the root.
    End step_frame_pointer_first(const UnwindRule& rule, std::uint64_t lookup, Cursor& cursor) {
        const UnwindRule current = rule;  // the calls below may move the cache
        cursor.doubtful = true;
        if (cursor.interrupted && current.kind == RuleKind::irregular) return checked(step_irregular(cursor), cursor);
        if (cursor.interrupted && current.kind == RuleKind::step) return checked(step_by_rule(current, cursor), cursor);
        if (tail_ == 0) {
            const End end = step_by_frame_pointer(current, lookup, cursor);
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

    static std::uint64_t offset(std::int32_t value) {
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    }

    static constexpr std::uint64_t largest_frame = std::uint64_t{1} << 32;
    static constexpr std::size_t longest_tail = 4;

    Rows& rules_;
    StackReader& stack_;
    Walk& out_;
    [[maybe_unused]] Recovery* const recovery_;
    std::uint64_t cfa_ = 0;
    std::uint64_t chain_from_ = ~std::uint64_t{0}, chain_to_ = 0;  // records of which records_lead_out() was true
    std::size_t tail_ = 0;  // frames found by frame pointer when the CFI took over
};

}  // namespace flameprobe
