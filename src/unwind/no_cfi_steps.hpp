// From frame to frame through code without unwind tables: nothing there is certain, so a return address is believed
// only where a call stands before it that can lead to the frame below.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "unwind/call_check.hpp"
#include "unwind/cursor.hpp"
#include "unwind/stack_reader.hpp"
#include "unwind/unwinder.hpp"

namespace flameprobe {

/// `Rules` and `Cpu` as for Walker. A step that gives nullopt has moved the cursor to the caller; after one that gives
/// a WalkEnd the cursor has no meaning.
template <class Rules, class Cpu>
class NoCfiSteps {
public:
    using End = std::optional<WalkEnd>;

    NoCfiSteps(Rules& rules, StackReader& stack) : rules_(rules), stack_(stack) {}

    /// Takes the return address in the frame record or, where the code never sets up records, the first on the stack
    /// that follows a call to this very code. A record may be the caller's: if its return address follows a call with
    /// an unknown target, one on the stack below it that follows a call to this code is preferred.
    End step(const UnwindRule& code, std::uint64_t lookup, Cursor& cursor) {
        const bool pushing = cursor.interrupted && code.record != RecordState::made;
        const bool interpreter = !code.keeps_records && !pushing && !code.in_file &&
                                 returns_to_run_time_code(cursor.fp) && records_lead_out(cursor.fp);
        if (interpreter && cursor.interrupted && returns_from_top(lookup, cursor)) return std::nullopt;
        bool returns_to_unknown = false;
        if (code.keeps_records || pushing || interpreter || (!code.in_file && has_own_record(cursor))) {
            Cursor caller = cursor;
            const End by_record = by_frame_pointer(code, lookup, caller);
            if (by_record == WalkEnd::root) return by_record;
            returns_to_unknown = by_record == WalkEnd::bad_return;
            if (!by_record) {
                const bool certain = rules_.judge_call(caller.pc, lookup) == CallCheck::Verdict::certain;
                if (!certain && code.in_file && !by_scan(lookup, cursor, caller.sp)) return std::nullopt;
                cursor = caller;
                return std::nullopt;
            }
        }
        if (Cpu::return_address_in_register && cursor.interrupted && by_link_register(code, lookup, cursor))
            return std::nullopt;
        // Where code is made at run time, nothing says where one function ends: a call into it proves too little.
        const End end = code.in_file ? by_scan(lookup, cursor, ~std::uint64_t{0}) : from_shared_frame(cursor, 0);
        if (end == WalkEnd::no_unwind_info && code.in_file && in_frame_of_called(cursor)) return std::nullopt;
        return end == WalkEnd::no_unwind_info && returns_to_unknown ? WalkEnd::bad_return : end;
    }

    /// For code made at run time that is jumped into and runs in the frame of the code that jumped, as LuaJIT's traces
    /// run in that of its interpreter, which is one function with one frame throughout. Takes the first return address
    /// on the stack that follows a call to such a function and leaves room for its frame above what the trace has
    /// pushed. `inside`: an address that must lie in the called function, unless 0.
    End from_shared_frame(Cursor& cursor, std::uint64_t inside) {
        constexpr std::uint64_t words = 512;
        for (std::uint64_t slot = cursor.sp, end = slot + 8 * words; slot < end; slot += 8) {
            std::uint64_t word = 0;
            if (!stack_.word(slot, word)) return WalkEnd::truncated;
            const UnwindRule* const frame = rules_.frame_of_called(word, inside);
            const std::uint64_t cfa = slot + 8;
            if (frame == nullptr || cfa - cursor.sp < static_cast<std::uint64_t>(frame->cfa_offset)) continue;
            const SavedFrame here{cursor, cfa, false};
            if (!here.restore(stack_, frame->fp_origin, frame->fp_slot, cursor.fp) ||
                !here.restore(stack_, frame->third_origin, frame->third_slot, cursor.third))
                return WalkEnd::truncated;
            cursor.move_to_doubtful(word, cfa);
            return std::nullopt;
        }
        return WalkEnd::no_unwind_info;
    }

    /// For code of a file that is jumped into and leaves the stack as it is: GHC's, which runs in the frame that StgRun
    /// has made, 16 KiB above the return address. Proven where the rule of a function, as if this code was in it, leads
    /// right behind a call to that function.
    bool in_frame_of_called(Cursor& cursor) {
        constexpr std::uint64_t words = 4096;
        for (std::uint64_t slot = cursor.sp, end = slot + 8 * words; slot < end; slot += 8) {
            std::uint64_t word = 0;
            if (!stack_.word(slot, word)) return false;
            Cursor caller = cursor;
            if (!rules_.leave_called(word, caller, stack_) || caller.pc != word || caller.sp != slot + 8) continue;
            cursor = caller;
            cursor.move_to_doubtful(caller.pc, caller.sp);
            return true;
        }
        return false;
    }

    End by_frame_pointer(const UnwindRule& rule, std::uint64_t lookup, Cursor& cursor) {
        const RecordState state = cursor.interrupted ? rule.record : RecordState::made;
        if (Cpu::return_address_in_register && state != RecordState::made)
            return by_link_register(rule, lookup, cursor) ? End() : WalkEnd::no_unwind_info;
        std::uint64_t record = cursor.fp;
        if (state != RecordState::made) record = cursor.sp - (state == RecordState::before ? 8 : 0);
        const bool above = state != RecordState::made || record >= cursor.sp;
        if (record % 8 != 0 || !above || record - cursor.sp + 8 >= largest_frame) return WalkEnd::no_unwind_info;
        std::uint64_t fp = cursor.fp, pc = 0;
        if (!stack_.word(record + 8, pc)) return WalkEnd::truncated;
        if (state != RecordState::before && !stack_.word(record, fp)) return WalkEnd::truncated;
        pc = Cpu::strip(pc);
        if (state == RecordState::made && fp == 0 && is_outermost_record(rule, pc)) return WalkEnd::root;
        const bool ends = rule.kind != RuleKind::no_cfi ? starts_stack(pc) : pc == 0 && fp == 0;
        if (!returns_from(rule, lookup, pc) && !needs_no_call(pc) && !ends && !returns_to_interpreter(record, pc))
            return rules_.rule(pc - 1) == nullptr ? WalkEnd::bad_return : WalkEnd::no_unwind_info;
        cursor.fp = fp;
        cursor.move_to_doubtful(pc, record + Cpu::frame_record_size);
        return std::nullopt;
    }

    /// A signal handler returns to the interrupted instruction, and a coroutine's first function to where nothing
    /// called it.
    bool needs_no_call(std::uint64_t return_address) {
        const UnwindRule* const rule = rules_.rule(return_address - 1);
        return rule != nullptr && (rule->signal_frame || rule->starts_stack == StackStart::by_bytes);
    }
    /// Whether a stack's first function may return there.
    bool starts_stack(std::uint64_t return_address) {
        if (leads_nowhere<Cpu>(return_address)) return true;
        const UnwindRule* const rule = rules_.rule(return_address - 1);
        return rule != nullptr && rule->starts_stack != StackStart::no;
    }

private:
    /// Whether a record that none follows belongs to the first frame of a stack that code made at run time has given to
    /// other such code (Erlang's processes): it returns to where nothing called it.
    bool is_outermost_record(const UnwindRule& rule, std::uint64_t return_address) {
        if (rule.kind != RuleKind::no_cfi || rule.in_file || rules_.follows_any_call(return_address)) return false;
        return is_run_time_code(return_address);
    }

    /// Whether the record returns to code made at run time. If not, it may be the caller's record, where this code
    /// keeps none itself: following it would lose the caller.
    bool returns_to_run_time_code(std::uint64_t record) {
        std::uint64_t pc = 0;
        return record % 8 == 0 && stack_.word(record + 8, pc) && is_run_time_code(pc - 1);
    }
    bool is_run_time_code(std::uint64_t lookup) {
        const UnwindRule* const rule = rules_.rule(lookup);
        return rule != nullptr && rule->kind == RuleKind::no_cfi && !rule->in_file;
    }

    /// Whether the record is the frame's own, though no code nearby sets one up (V8's baseline code calls a builtin
    /// that does): the frame must have a return address, and below the record lies none. An address in code made at run
    /// time counts as one, since an interpreter's follow no call.
    bool has_own_record(const Cursor& cursor) {
        constexpr std::uint64_t largest = 4096;
        if (Cpu::return_address_in_register || cursor.fp < cursor.sp || cursor.fp - cursor.sp > largest) return false;
        for (std::uint64_t slot = cursor.sp; slot < cursor.fp; slot += 8) {
            std::uint64_t word = 0;
            if (!stack_.word(slot, word)) return false;
            const UnwindRule* const rule = rules_.rule(word - 1);
            if (rule == nullptr) continue;
            const bool run_time_code = rule->kind == RuleKind::no_cfi && !rule->in_file;
            if (run_time_code || rules_.follows_any_call(word)) return false;
        }
        return records_lead_out(cursor.fp);
    }

    /// Whether each record from this one on leads to one above it, through code without tables, until one returns
    /// behind a call in code that has them. A JVM's interpreter is a megabyte of pieces that mostly set up no record,
    /// and what it calls returns to addresses that no call precedes: such a chain is believed as a whole or not at all.
    bool records_lead_out(std::uint64_t record) {
        constexpr std::uint64_t most_records = 1024, largest = std::uint64_t{1} << 20;
        if (record >= chain_from_ && record <= chain_to_) return true;
        std::uint64_t at = record;
        for (std::uint64_t nth = 0; nth < most_records; ++nth) {
            std::uint64_t next = 0, pc = 0;
            if (at % 8 != 0) return false;
            // The rest lies beyond the copy: two good records are taken for the start of a chain.
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

    /// Takes the return address on top of the stack: for code that was called and has no frame of its own.
    bool returns_from_top(std::uint64_t lookup, Cursor& cursor) {
        std::uint64_t pc = 0;
        if (Cpu::return_address_in_register || cursor.sp >= cursor.fp || !stack_.word(cursor.sp, pc) ||
            rules_.judge_call(pc, lookup) == CallCheck::Verdict::no)
            return false;
        cursor.move_to_doubtful(pc, cursor.sp + 8);
        return true;
    }

    /// Takes the return address in the register: for code that has not saved it yet, or has restored it. A call with an
    /// unknown target is proof enough where the instructions show this (a prologue, a return), or where no code nearby
    /// ever saves the register, as in the vdso.
    bool by_link_register(const UnwindRule& rule, std::uint64_t lookup, Cursor& cursor) {
        const std::uint64_t pc = Cpu::strip(cursor.third);
        const auto verdict = rules_.judge_call(pc, lookup);
        const bool shown_by_code = rule.record != RecordState::made || !rule.keeps_records;
        if (verdict == CallCheck::Verdict::no || (verdict == CallCheck::Verdict::possible && !shown_by_code))
            return false;
        cursor.move_to_doubtful(pc, cursor.sp + (rule.kind == RuleKind::no_cfi ? as_offset(rule.cfa_offset) : 0));
        return true;
    }

    End by_scan(std::uint64_t lookup, Cursor& cursor, std::uint64_t below) {
        constexpr std::uint64_t words = 128;
        for (std::uint64_t slot = cursor.sp, end = std::min(slot + 8 * words, below); slot < end; slot += 8) {
            std::uint64_t word = 0;
            if (!stack_.word(slot, word)) return WalkEnd::truncated;
            word = Cpu::strip(word);
            if (rules_.judge_call(word, lookup) != CallCheck::Verdict::certain) continue;
            cursor.move_to_doubtful(word, slot + 8);
            return std::nullopt;
        }
        return WalkEnd::no_unwind_info;
    }

    bool returns_to_interpreter(std::uint64_t record, std::uint64_t return_address) {
        return is_run_time_code(return_address - 1) && records_lead_out(record);
    }

    /// For code with CFI (the unwinder by frame pointers) any call is enough: the function that was called may have
    /// tail-called this one.
    bool returns_from(const UnwindRule& rule, std::uint64_t lookup, std::uint64_t return_address) {
        if (rule.kind != RuleKind::no_cfi) return rules_.follows_any_call(return_address);
        return rules_.judge_call(return_address, lookup) != CallCheck::Verdict::no;
    }

    Rules& rules_;
    StackReader& stack_;
    std::uint64_t chain_from_ = ~std::uint64_t{0}, chain_to_ = 0;  // records for which records_lead_out() was true
};

}  // namespace flameprobe
