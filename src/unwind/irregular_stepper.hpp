// One step over a frame that no UnwindRule can describe: by the table's expressions, worked out anew each time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/registers.hpp"
#include "base/self_memory.hpp"
#include "cpu/registers.hpp"
#include "unwind/cfi_tables.hpp"
#include "unwind/cursor.hpp"
#include "unwind/expression.hpp"
#include "unwind/stack_reader.hpp"

namespace flameprobe {

class IrregularFrame final : public FrameState {
public:
    IrregularFrame(const TableFrame& table, const Cursor& cursor, const Registers* all, StackReader& stack)
        : table_(table), cursor_(cursor), all_(all), stack_(stack) {
        const CfiRule& cfa = table.row.cfa;
        if (cfa.how == CfiRule::How::val_expression) cfa_ = evaluate(table.expression(cfa), std::nullopt, *this);
        if (cfa.how == CfiRule::How::val_offset)
            cfa_ = plus(register_value(table.row.cfa_register), table.row.cfa_offset);
    }

    std::optional<std::uint64_t> cfa() const { return cfa_; }
    std::optional<std::uint64_t> register_value(std::uint64_t number) override {
        if (number == Arch::return_address) return cursor_.lookup();
        if (number == Arch::sp) return known(cursor_.sp);
        if (number == Arch::fp) return known(cursor_.fp);
        if (number == Arch::third) return known(cursor_.third);
        if (all_ == nullptr || number >= Registers::count) return std::nullopt;
        return known(all_->value[number]);
    }
    /// What is not on the known stack may be elsewhere in the process, as a saved context is.
    std::optional<std::uint64_t> word(std::uint64_t address) override {
        std::uint64_t word = 0;
        if (address >= cursor_.sp && stack_.word(address, word)) return word;
        if (read_self(address, std::as_writable_bytes(std::span(&word, 1))) == sizeof word) return word;
        return std::nullopt;
    }

    struct Saved {
        enum class How : std::uint8_t { kept, slot, value, lost } how = How::lost;
        std::uint64_t number = 0;  // the slot's address, or the value
    };
    Saved saved(const CfiRule& rule) {
        using How = CfiRule::How;
        switch (rule.how) {
            case How::unspecified:
            case How::same_value:
                return {Saved::How::kept, 0};
            case How::offset:
                return found(Saved::How::slot, plus(cfa_, rule.number));
            case How::val_offset:
                return found(Saved::How::value, plus(cfa_, rule.number));
            case How::in_register:
                return found(Saved::How::value, register_value(static_cast<std::uint64_t>(rule.number)));
            case How::expression:
                return found(Saved::How::slot, evaluate(table_.expression(rule), cfa_, *this));
            case How::val_expression:
                return found(Saved::How::value, evaluate(table_.expression(rule), cfa_, *this));
            default:
                return {};
        }
    }

private:
    static std::optional<std::uint64_t> known(std::uint64_t value) {
        return value == Cursor::unknown ? std::nullopt : std::optional(value);
    }
    static std::optional<std::uint64_t> plus(std::optional<std::uint64_t> base, std::int64_t offset) {
        return base ? std::optional(*base + static_cast<std::uint64_t>(offset)) : std::nullopt;
    }
    static Saved found(Saved::How how, std::optional<std::uint64_t> number) {
        return number ? Saved{how, *number} : Saved{};
    }

    const TableFrame& table_;
    const Cursor& cursor_;
    const Registers* all_;
    StackReader& stack_;
    std::optional<std::uint64_t> cfa_;
};

/// A caller's register. As in SavedFrame::restore: only a slot of the frame itself holds the caller's value, but for a
/// signal's frame, which may lie anywhere.
inline void restore_from(IrregularFrame& frame, const CfiRule& rule, const Cursor& cursor, const Cursor& caller,
                         bool signal_frame, std::uint64_t& value) {
    using How = IrregularFrame::Saved::How;
    const auto saved = frame.saved(rule);
    const bool inside = saved.number - cursor.sp < caller.sp - cursor.sp;
    if (saved.how == How::value) value = saved.number;
    if (saved.how == How::slot && (inside || signal_frame))
        if (const auto word = frame.word(saved.number)) value = *word;
}

inline std::optional<std::uint64_t> return_address_of(IrregularFrame& frame, const TableFrame& table) {
    using How = IrregularFrame::Saved::How;
    const auto saved = frame.saved(table.return_address());
    switch (saved.how) {
        case How::kept:
            return Arch::return_address_in_register ? frame.register_value(table.entry.common.return_column)
                                                    : std::nullopt;
        case How::slot:
            return frame.word(saved.number);
        case How::value:
            return saved.number;
        default:
            return std::nullopt;
    }
}

/// One thread only.
class IrregularStepper {
public:
    /// Both must outlive it. The owner of `modules` must make that forget what was unmapped.
    IrregularStepper(const CodeMap& map, ModuleTable& modules) : map_(map), modules_(modules) {}

    /// Moves the cursor to its frame's caller, or says why it cannot. `all` are the thread's registers, null once the
    /// walk has left the frame they belong to: then only the cursor's are known.
    std::optional<WalkEnd> step(Cursor& cursor, const Registers* all, StackReader& stack) {
        const CodeRegion* const region = map_.find(cursor.lookup());
        const auto tables = region == nullptr ? ModuleTable::Tables{} : modules_.find(*region);
        const auto table = tables.cfi == nullptr ? std::nullopt : tables.cfi->frame(cursor.lookup() - tables.bias);
        if (!table) return WalkEnd::no_unwind_info;
        const bool signal_frame = table->entry.common.is_signal_frame;
        IrregularFrame frame(*table, cursor, all, stack);
        if (!frame.cfa()) return WalkEnd::no_unwind_info;
        const auto returns_to = return_address_of(frame, *table);
        if (!returns_to) return WalkEnd::no_unwind_info;
        if (*returns_to == 0) return WalkEnd::bad_return;
        Cursor caller = cursor;
        caller.pc = signal_frame ? *returns_to : Arch::strip(*returns_to);
        const auto stack_pointer = frame.saved(table->row.of[Arch::sp]);
        caller.sp = stack_pointer.how == IrregularFrame::Saved::How::value ? stack_pointer.number : *frame.cfa();
        caller.interrupted = signal_frame;
        restore_from(frame, table->row.of[Arch::fp], cursor, caller, signal_frame, caller.fp);
        restore_from(frame, table->row.of[Arch::third], cursor, caller, signal_frame, caller.third);
        cursor = caller;
        return std::nullopt;
    }

private:
    const CodeMap& map_;
    ModuleTable& modules_;
};

}  // namespace flameprobe
