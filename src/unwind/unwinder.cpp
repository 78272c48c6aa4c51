#include "unwind/unwinder.hpp"

#include <optional>
#include <unordered_map>

#include "unwind/call_check.hpp"
#include "unwind/code_bytes.hpp"
#include "unwind/cursor.hpp"
#include "unwind/irregular_stepper.hpp"
#include "unwind/rule_source.hpp"
#include "unwind/stack_reader.hpp"
#include "unwind/walker.hpp"

namespace flameprobe {

namespace {

/// What Walker asks for, answered from the process's code.
class LiveRules {
public:
    LiveRules(const CodeMap& map, bool frame_pointers)
        : source_(map, frame_pointers), calls_(map, source_.modules()), stepper_(map, source_.modules()) {}

    void start(const Registers& registers) {
        source_.start();
        registers_ = &registers;
    }
    const UnwindRule* rule(std::uint64_t lookup) { return source_.rule(lookup); }
    bool follows_any_call(std::uint64_t return_address) {
        return calls_.site(return_address).kind != CallSite::Kind::none;
    }
    CallCheck::Verdict judge_call(std::uint64_t return_address, std::uint64_t callee) {
        return calls_.judge(return_address, callee);
    }
    bool calls_on_new_stack(std::uint64_t return_address) { return flameprobe::calls_on_new_stack(return_address); }
    bool never_returns(std::uint64_t address) { return flameprobe::never_returns(address); }
    bool is_first_call(std::uint64_t return_address) { return flameprobe::is_first_call(return_address); }
    bool leaf_register(const Cursor& cursor, unsigned number, std::uint64_t& value) const {
        value = registers_->value[number];
        return is_leaf(cursor) && value != Cursor::unknown;
    }
    bool leave_called(std::uint64_t return_address, Cursor& cursor, StackReader& stack) {
        const CodeRegion* region = nullptr;
        const std::uint64_t target = called_at(return_address, region);
        if (target == 0) return false;
        if (irregular_ends_.size() > most_remembered) irregular_ends_.clear();
        const auto [known, is_new] = irregular_ends_.try_emplace(target, 0);
        if (is_new) known->second = irregular_end(*region, target);
        cursor.pc = known->second;
        cursor.interrupted = true;
        return cursor.pc != 0 && !stepper_.step(cursor, nullptr, stack);
    }
    const UnwindRule* frame_of_called(std::uint64_t return_address, std::uint64_t inside) {
        const CodeRegion* region = nullptr;
        const std::uint64_t target = called_at(return_address, region);
        if (target == 0) return nullptr;
        const auto tables = source_.modules().find(*region);
        if (tables.cfi == nullptr) return nullptr;
        const auto function = tables.cfi->function(target, tables.bias);
        if (!function.described || !function.split_off || function.end == 0) return nullptr;
        if (inside != 0 && inside - (function.start + tables.bias) >= function.end - function.start) return nullptr;
        frame_of_called_ = tables.cfi->rule(function.start + tables.bias, tables.bias);
        const UnwindRule last = tables.cfi->rule(function.end - 1 + tables.bias, tables.bias);
        const UnwindRule& first = frame_of_called_;
        const bool one_frame = first.base == RuleBase::sp && !first.cfa_is_loaded &&
                               first.ra_origin == SlotOrigin::cfa && first.ra_slot == -8 && last.kind == first.kind &&
                               last.base == first.base && last.cfa_offset == first.cfa_offset &&
                               last.fp_slot == first.fp_slot;
        return one_frame ? &frame_of_called_ : nullptr;
    }
    std::optional<WalkEnd> step_irregular(Cursor& cursor, StackReader& stack) {
        ++irregular_steps_;
        return stepper_.step(cursor, is_leaf(cursor) ? registers_ : nullptr, stack);
    }
    /// 0 if that is not known.
    std::uint64_t function_start(std::uint64_t lookup) {
        const CodeRegion* const region = source_.map().find(lookup);
        if (region == nullptr) return 0;
        const auto tables = source_.modules().find(*region);
        if (tables.cfi == nullptr) return 0;
        const auto function = tables.cfi->function(lookup, tables.bias);
        return function.start == 0 ? 0 : function.start + tables.bias;
    }
    ModuleTable& modules() { return source_.modules(); }
    void add_to(UnwindStatistics& out) const {
        out.rule_hits = source_.hits();
        out.rule_misses = source_.misses();
        out.irregular_steps = irregular_steps_;
        out.memory = source_.memory() + calls_.memory();
    }

private:
    bool is_leaf(const Cursor& cursor) const {
        return cursor.interrupted && cursor.pc == registers_->pc() && cursor.sp == registers_->sp();
    }

    /// What the call that ends there calls, and where that lies; 0 if there is no such call.
    std::uint64_t called_at(std::uint64_t return_address, const CodeRegion*& region) {
        if (source_.map().find(return_address - 1) == nullptr) return 0;
        const std::uint64_t target = calls_.site(return_address).target;
        region = target != 0 ? source_.map().find(target) : nullptr;
        return region != nullptr ? target : 0;
    }

    /// Where the last rule of the function begins, if it is irregular; else 0.
    std::uint64_t irregular_end(const CodeRegion& region, std::uint64_t function) {
        const auto tables = source_.modules().find(region);
        if (tables.cfi == nullptr) return 0;
        const std::uint64_t at = tables.cfi->last_rule_of(function, tables.bias);
        return at != 0 && tables.cfi->rule(at, tables.bias).kind == RuleKind::irregular ? at : 0;
    }

    static constexpr std::size_t most_remembered = 4096;
    std::unordered_map<std::uint64_t, std::uint64_t> irregular_ends_;  // by function
    RuleSource source_;
    CallCheck calls_;
    IrregularStepper stepper_;
    UnwindRule frame_of_called_;
    const Registers* registers_ = nullptr;
    std::uint64_t irregular_steps_ = 0;
};

/// The frame pointer of a blocked thread's frame, when only pc and sp are known: the kernel keeps the other registers
/// to itself. Taken only where the stack proves it, since a wrong one would give a wrong caller.
class FrameRecovery {
public:
    FrameRecovery(LiveRules& rules, StackReader& stack) : rules_(rules), stack_(stack) {}

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

    LiveRules& rules_;
    StackReader& stack_;
};

template <bool frame_pointers>
class LiveUnwinder final : public Unwinder {
public:
    explicit LiveUnwinder(const CodeMap& map) : rules_(map, frame_pointers) { Arch::learn_address_bits(); }

    void walk(const Registers& registers, StackCopy stack, StackBeyond* beyond, Walk& out) override {
        Cursor cursor;
        cursor.pc = registers.pc();
        cursor.sp = registers.sp();
        cursor.fp = registers.fp();
        cursor.third = registers.value[Arch::third];
        rules_.start(registers);
        stack_.start(stack, beyond);
        Walker<LiveRules, frame_pointers>(rules_, stack_, out).walk(cursor, max_frames);
    }
    void walk_blocked(std::uint64_t pc, std::uint64_t sp, StackCopy stack, StackBeyond* beyond, Walk& out) override {
        Registers registers;
        registers.value.fill(Cursor::unknown);
        registers.value[Arch::return_address] = pc;
        registers.value[Arch::sp] = sp;
        Cursor cursor;
        cursor.pc = pc;
        cursor.sp = sp;
        cursor.fp = cursor.third = Cursor::unknown;
        rules_.start(registers);
        stack_.start(stack, beyond);
        FrameRecovery recovery(rules_, stack_);
        Walker<LiveRules, false, Arch, FrameRecovery>(rules_, stack_, out, &recovery).walk(cursor, max_frames);
    }
    ModuleTable& modules() override { return rules_.modules(); }
    UnwindStatistics statistics() const override {
        UnwindStatistics out;
        rules_.add_to(out);
        out.memory += stack_.memory();
        return out;
    }

private:
    LiveRules rules_;
    StackReader stack_;
};

}  // namespace

std::string_view describe(WalkEnd end) {
    constexpr std::string_view texts[] = {"reached the start of the thread",
                                          "the copy of the stack ended first",
                                          "code without unwind tables",
                                          "the canonical frame address did not grow",
                                          "a return address is not code",
                                          "more frames than the limit",
                                          "a register of a blocked thread is not known"};
    return texts[static_cast<std::size_t>(end)];
}

std::unique_ptr<Unwinder> make_dwarf_unwinder(const CodeMap& map) { return std::make_unique<LiveUnwinder<false>>(map); }
std::unique_ptr<Unwinder> make_fp_unwinder(const CodeMap& map) { return std::make_unique<LiveUnwinder<true>>(map); }

}  // namespace flameprobe
