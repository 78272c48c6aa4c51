#include "symbolize/dwarf_lines.hpp"

#include <dwarf.h>

#include <algorithm>

namespace flameprobe {

namespace {

/// The state machine's registers that matter here (DWARF 5, section 6.2.2).
struct Registers {
    std::uint64_t address = 0;
    std::uint64_t operation = 0;
    std::uint32_t file = 1;
    std::uint32_t line = 1;
};

/// Gives rows to addresses. A row holds up to the next one's address, so each is kept until the next is known.
class RowSink {
public:
    RowSink(std::span<const std::uint64_t> addresses, std::uint64_t lowest, std::vector<LineRow>& rows)
        : addresses_(addresses), lowest_(lowest), rows_(rows) {}

    void row(const Registers& now) {
        if (in_sequence_ && now.address > last_.address) give(now.address);
        if (!in_sequence_) {
            dead_ = now.address < lowest_;
            next_ = at(now.address);
        }
        in_sequence_ = true;
        last_ = now;
    }
    void end(const Registers& now) {
        if (in_sequence_ && now.address > last_.address) give(now.address);
        in_sequence_ = false;
    }

private:
    std::size_t at(std::uint64_t address) const {
        return static_cast<std::size_t>(std::lower_bound(addresses_.begin(), addresses_.end(), address) -
                                        addresses_.begin());
    }
    void give(std::uint64_t end) {
        if (dead_) return;
        // Rows ascend within a sequence; where a broken one goes back, so do we.
        if (next_ > 0 && addresses_[next_ - 1] >= last_.address) next_ = at(last_.address);
        while (next_ < addresses_.size() && addresses_[next_] < last_.address) ++next_;
        for (; next_ < addresses_.size() && addresses_[next_] < end; ++next_)
            if (!rows_[next_].found) rows_[next_] = {last_.file, last_.line, true};
    }

    std::span<const std::uint64_t> addresses_;
    std::uint64_t lowest_;
    std::vector<LineRow>& rows_;
    Registers last_;
    std::size_t next_ = 0;
    bool in_sequence_ = false;
    bool dead_ = false;
};

}  // namespace

std::vector<LineRow> LineProgram::find(std::span<const std::uint64_t> addresses, std::uint64_t lowest) const {
    std::vector<LineRow> rows(addresses.size());
    RowSink sink(addresses, lowest, rows);
    Registers now;
    const auto advance = [&](std::uint64_t operations) {
        now.operation += operations;
        now.address += minimum_length_ * (now.operation / operations_per_instruction_);
        now.operation %= operations_per_instruction_;
    };
    const auto extended = [&](ByteCursor& cursor) {
        const std::uint64_t size = cursor.uleb(), start = cursor.offset();
        if (size == 0 || size > cursor.remaining()) return cursor.skip(~std::uint64_t{0});
        switch (cursor.u8()) {
            case DW_LNE_end_sequence:
                sink.end(now);
                now = {};
                break;
            case DW_LNE_set_address:
                now.address = cursor.sized(static_cast<unsigned>(std::min<std::uint64_t>(size - 1, 255)));
                now.operation = 0;
                break;
            default:
                break;
        }
        cursor.seek(start + size);
    };

    for (ByteCursor cursor(program_); !cursor.at_end();) {
        const std::uint8_t opcode = cursor.u8();
        if (opcode >= opcode_base_) {
            const unsigned adjusted = opcode - opcode_base_;
            advance(adjusted / line_range_);
            now.line += static_cast<std::uint32_t>(line_base_ + static_cast<int>(adjusted % line_range_));
            sink.row(now);
            continue;
        }
        switch (opcode) {
            case 0:
                extended(cursor);
                break;
            case DW_LNS_copy:
                sink.row(now);
                break;
            case DW_LNS_advance_pc:
                advance(cursor.uleb());
                break;
            case DW_LNS_advance_line:
                now.line += static_cast<std::uint32_t>(cursor.sleb());
                break;
            case DW_LNS_set_file:
                now.file = static_cast<std::uint32_t>(cursor.uleb());
                break;
            case DW_LNS_const_add_pc:
                advance((255u - opcode_base_) / line_range_);
                break;
            case DW_LNS_fixed_advance_pc:
                now.address += cursor.u16();
                now.operation = 0;
                break;
            default:
                for (unsigned i = 0; i < opcode_lengths_[opcode - 1u]; ++i) cursor.skip_leb();
        }
    }
    return rows;
}

}  // namespace flameprobe
