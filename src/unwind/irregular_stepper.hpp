// One step over a frame that no UnwindRule can describe: by the table's expressions, worked out anew each time.
#pragma once

#include <elfutils/libdw.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/registers.hpp"
#include "base/self_memory.hpp"
#include "cpu/registers.hpp"
#include "unwind/cfi_tables.hpp"
#include "unwind/cursor.hpp"
#include "unwind/stack_reader.hpp"

namespace flameprobe {

/// What an expression may ask for; nothing where it is not known.
class FrameState {
public:
    virtual ~FrameState() = default;
    virtual std::optional<std::uint64_t> register_value(unsigned dwarf_register) = 0;
    virtual std::optional<std::uint64_t> word(std::uint64_t address) = 0;
    virtual std::optional<std::uint64_t> cfa() = 0;
};

/// Where a value lies in memory, or the value itself (DW_OP_stack_value, a register).
struct Evaluated {
    std::uint64_t number = 0;
    bool is_value = false;
};

/// Nothing if the expression is malformed, does not end, or needs what the frame does not know.
std::optional<Evaluated> evaluate(const Dwarf_Op* operations, std::size_t count, FrameState& frame);

class TableFrame final : public FrameState {
public:
    TableFrame(Dwarf_Frame& table, const Cursor& cursor, const Registers* all, StackReader& stack)
        : table_(table), cursor_(cursor), all_(all), stack_(stack) {
        Dwarf_Op* operations = nullptr;
        std::size_t count = 0;
        if (::dwarf_frame_cfa(&table_, &operations, &count) != 0 || count == 0) return;
        // Nothing is there that is a value: what is worked out is the address.
        if (const auto cfa = evaluate(operations, count, *this)) cfa_ = cfa->number;
    }

    std::optional<std::uint64_t> cfa() override { return cfa_; }
    std::optional<std::uint64_t> register_value(unsigned number) override {
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
    Saved saved(unsigned number) {
        std::array<Dwarf_Op, 3> few{};
        Dwarf_Op* operations = nullptr;
        std::size_t count = 0;
        if (::dwarf_frame_register(&table_, static_cast<int>(number), few.data(), &operations, &count) != 0) return {};
        if (count == 0) return {Saved::How::kept, 0};
        const auto place = evaluate(operations, count, *this);
        if (!place) return {};
        return {place->is_value ? Saved::How::value : Saved::How::slot, place->number};
    }

private:
    static std::optional<std::uint64_t> known(std::uint64_t value) {
        return value == Cursor::unknown ? std::nullopt : std::optional(value);
    }

    Dwarf_Frame& table_;
    const Cursor& cursor_;
    const Registers* all_;
    StackReader& stack_;
    std::optional<std::uint64_t> cfa_;
};

/// A caller's register. As in SavedFrame::restore: only a slot of the frame itself holds the caller's value, but for a
/// signal's frame, which may lie anywhere.
inline void restore_from(TableFrame& frame, unsigned number, const Cursor& cursor, const Cursor& caller,
                         bool signal_frame, std::uint64_t& value) {
    const auto saved = frame.saved(number);
    const bool inside = saved.number - cursor.sp < caller.sp - cursor.sp;
    if (saved.how == TableFrame::Saved::How::value) value = saved.number;
    if (saved.how == TableFrame::Saved::How::slot && (inside || signal_frame))
        if (const auto word = frame.word(saved.number)) value = *word;
}

inline std::optional<std::uint64_t> return_address_of(TableFrame& frame, unsigned column) {
    const auto saved = frame.saved(column);
    switch (saved.how) {
        case TableFrame::Saved::How::kept:
            return Arch::return_address_in_register ? frame.register_value(column) : std::nullopt;
        case TableFrame::Saved::How::slot:
            return frame.word(saved.number);
        case TableFrame::Saved::How::value:
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
        const FrameOwner table = tables.cfi == nullptr ? nullptr : tables.cfi->frame(cursor.lookup() - tables.bias);
        if (table == nullptr) return WalkEnd::no_unwind_info;
        bool signal_frame = false;
        const int column = ::dwarf_frame_info(table.get(), nullptr, nullptr, &signal_frame);
        TableFrame frame(*table, cursor, all, stack);
        if (column < 0 || !frame.cfa()) return WalkEnd::no_unwind_info;
        const auto returns_to = return_address_of(frame, static_cast<unsigned>(column));
        if (!returns_to) return WalkEnd::no_unwind_info;
        if (*returns_to == 0) return WalkEnd::bad_return;
        Cursor caller = cursor;
        caller.pc = signal_frame ? *returns_to : Arch::strip(*returns_to);
        const auto stack_pointer = frame.saved(Arch::sp);
        caller.sp = stack_pointer.how == TableFrame::Saved::How::value ? stack_pointer.number : *frame.cfa();
        caller.interrupted = signal_frame;
        restore_from(frame, Arch::fp, cursor, caller, signal_frame, caller.fp);
        restore_from(frame, Arch::third, cursor, caller, signal_frame, caller.third);
        cursor = caller;
        return std::nullopt;
    }

private:
    const CodeMap& map_;
    ModuleTable& modules_;
};

}  // namespace flameprobe
