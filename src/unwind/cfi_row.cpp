#include "unwind/cfi_row.hpp"

#include <dwarf.h>

#include <algorithm>
#include <vector>

namespace flameprobe {
namespace {

using How = CfiRule::How;

// Newer than some dwarf.h. On SPARC the first is DW_CFA_GNU_window_save.
constexpr unsigned aarch64_negate_ra_state = 0x2d, aarch64_negate_ra_state_with_pc = 0x2c, advance_loc8 = 0x1d;

class Execution {
public:
    Execution(const CfiEntry& entry, std::uint64_t address, CfiRow& row) : entry_(entry), address_(address), now_(row) {
        row.start = entry.start;
        row.end = entry.end;
    }

    bool run() {
        if (!entry_.covers(address_) || !run(entry_.common.instructions)) return false;
        initial_ = now_.of;
        has_initial_ = true;
        return run(entry_.instructions);
    }

private:
    static constexpr std::size_t deepest = 8;  // compilers remember one state, by hand two were seen

    /// False if an instruction is wrong.
    bool run(std::span<const std::byte> instructions) {
        bytes_ = instructions;
        in_ = ByteReader(instructions);
        while (!in_.at_end() && !is_done_)
            if (!apply(in_.u8()) || !in_.ok()) return false;
        return true;
    }

    bool apply(unsigned instruction) {
        const unsigned operand = instruction & 0x3f;
        switch (instruction & 0xc0) {
            case DW_CFA_advance_loc:
                return advance(operand);
            case DW_CFA_offset:
                return set(operand, How::offset, factored(in_.varint()));
            case DW_CFA_restore:
                return restore(operand);
            default:
                return apply_extended(operand);
        }
    }
    bool apply_extended(unsigned instruction);
    bool apply_to_register(unsigned instruction);
    bool apply_to_cfa(unsigned instruction);

    bool advance(std::uint64_t delta) {
        std::uint64_t bytes = 0, to = 0;
        if (__builtin_mul_overflow(delta, entry_.common.code_alignment, &bytes) ||
            __builtin_add_overflow(now_.start, bytes, &to))
            return false;
        return advance_to(to);
    }
    bool advance_to(std::uint64_t to) {
        if (!has_initial_ || to < now_.start) return false;
        if (to > address_) {
            is_done_ = true;
            now_.end = std::min(to, now_.end);
        } else {
            now_.start = to;
        }
        return true;
    }
    bool set(std::uint64_t number, How how, std::int64_t value) {
        if (number < CfiRow::registers) now_.of[number] = {how, 0, value};
        return true;
    }
    bool set_expression(std::uint64_t number, How how) {
        const CfiRule rule = expression(how);
        if (number < CfiRow::registers) now_.of[number] = rule;
        return in_.ok();
    }
    CfiRule expression(How how) {
        const std::uint64_t size = in_.varint();
        const auto at = static_cast<std::int64_t>(bytes_.data() - entry_.section.bytes.data()) +
                        static_cast<std::int64_t>(in_.position());
        in_.skip(size);
        return {how, static_cast<std::uint32_t>(size), at};
    }
    bool restore(std::uint64_t number) {
        if (number < CfiRow::registers) now_.of[number] = initial_[number];
        return has_initial_;
    }
    bool set_cfa(std::uint64_t base, std::int64_t offset) {
        now_.cfa.how = How::val_offset;
        now_.cfa_register = base;
        now_.cfa_offset = offset;
        return true;
    }
    // Offsets wrap, as a machine's addresses do.
    std::int64_t factored(std::uint64_t offset) const {
        return static_cast<std::int64_t>(offset * static_cast<std::uint64_t>(entry_.common.data_alignment));
    }
    std::int64_t signed_factored() { return factored(static_cast<std::uint64_t>(in_.sleb128())); }

    const CfiEntry& entry_;
    const std::uint64_t address_;
    bool has_initial_ = false, is_done_ = false;
    ByteReader in_;
    std::span<const std::byte> bytes_;  // what `in_` reads
    CfiRow& now_;
    std::array<CfiRule, CfiRow::registers> initial_;
    std::vector<CfiRow> remembered_;
};

bool Execution::apply_extended(unsigned instruction) {
    switch (instruction) {
        case DW_CFA_nop:
        case aarch64_negate_ra_state:  // return addresses are freed of what may be a signature in any case
        case aarch64_negate_ra_state_with_pc:
            return true;
        case DW_CFA_GNU_args_size:  // what was pushed for a call, for exceptions
            in_.varint();
            return true;
        case DW_CFA_set_loc: {
            const auto to = entry_.section.pointer(in_, bytes_, entry_.common.encoding);
            return to && advance_to(*to);
        }
        case DW_CFA_advance_loc1:
            return advance(in_.u8());
        case DW_CFA_advance_loc2:
            return advance(in_.fixed<std::uint16_t>());
        case DW_CFA_advance_loc4:
            return advance(in_.u32());
        case advance_loc8:
            return advance(in_.u64());
        case DW_CFA_remember_state:
            if (remembered_.size() == deepest) return false;
            remembered_.push_back(now_);
            return true;
        case DW_CFA_restore_state:
            if (remembered_.empty()) return false;
            remembered_.back().start = now_.start;
            now_ = remembered_.back();
            remembered_.pop_back();
            return true;
        case DW_CFA_def_cfa:
        case DW_CFA_def_cfa_sf:
        case DW_CFA_def_cfa_register:
        case DW_CFA_def_cfa_offset:
        case DW_CFA_def_cfa_offset_sf:
        case DW_CFA_def_cfa_expression:
            return apply_to_cfa(instruction);
        default:
            return apply_to_register(instruction);
    }
}

bool Execution::apply_to_cfa(unsigned instruction) {
    switch (instruction) {
        case DW_CFA_def_cfa: {
            const std::uint64_t base = in_.varint();
            return set_cfa(base, static_cast<std::int64_t>(in_.varint()));
        }
        case DW_CFA_def_cfa_sf: {
            const std::uint64_t base = in_.varint();
            return set_cfa(base, signed_factored());
        }
        case DW_CFA_def_cfa_register:
            // Allowed after a register and an offset only, but libgcrypt's assembly has it after an expression, and
            // means the offset before that, as binutils takes it.
            return now_.cfa.how != How::unspecified && set_cfa(in_.varint(), now_.cfa_offset);
        case DW_CFA_def_cfa_offset:
            return now_.cfa.how == How::val_offset &&
                   set_cfa(now_.cfa_register, static_cast<std::int64_t>(in_.varint()));
        case DW_CFA_def_cfa_offset_sf:
            return now_.cfa.how == How::val_offset && set_cfa(now_.cfa_register, signed_factored());
        default:
            now_.cfa = expression(How::val_expression);
            return in_.ok();
    }
}

bool Execution::apply_to_register(unsigned instruction) {
    const std::uint64_t number = in_.varint();
    switch (instruction) {
        case DW_CFA_undefined:
            return set(number, How::undefined, 0);
        case DW_CFA_same_value:
            return set(number, How::same_value, 0);
        case DW_CFA_offset_extended:
            return set(number, How::offset, factored(in_.varint()));
        case DW_CFA_offset_extended_sf:
            return set(number, How::offset, signed_factored());
        case DW_CFA_GNU_negative_offset_extended:
            return set(number, How::offset, factored(0 - in_.varint()));
        case DW_CFA_val_offset:
            return set(number, How::val_offset, factored(in_.varint()));
        case DW_CFA_val_offset_sf:
            return set(number, How::val_offset, signed_factored());
        case DW_CFA_register:
            return set(number, How::in_register, static_cast<std::int64_t>(in_.varint()));
        case DW_CFA_restore_extended:
            return restore(number);
        case DW_CFA_expression:
            return set_expression(number, How::expression);
        case DW_CFA_val_expression:
            return set_expression(number, How::val_expression);
        default:
            return false;
    }
}

}  // namespace

bool find_row(const CfiEntry& entry, std::uint64_t address, CfiRow& row) {
    return Execution(entry, address, row).run();
}

}  // namespace flameprobe
