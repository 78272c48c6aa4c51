// Call frame instructions, one by one and where they are wrong.
#include "unwind/cfi_row.hpp"

#include <doctest/doctest.h>
#include <dwarf.h>

#include "cfi_bytes.hpp"

using namespace flameprobe;
using namespace flameprobe::testing;

namespace {

using How = CfiRule::How;

/// The last row of a description with these instructions.
std::optional<CfiRow> last_row(const CfiBytes& instructions) {
    HandMadeSection section;
    section.instructions = instructions;
    return section.row(code_end - 1);
}

CfiRule rule_of(const CfiBytes& instructions, unsigned number) {
    const auto row = last_row(instructions);
    REQUIRE(row);
    return row->lookup(number);
}

struct Cfa {
    std::uint64_t base = 0;
    std::int64_t offset = 0;
    bool operator==(const Cfa&) const = default;
};
Cfa cfa_of(const CfiBytes& instructions) {
    const auto row = last_row(instructions);
    REQUIRE(row);
    REQUIRE(row->cfa.how == How::val_offset);
    return {row->cfa_register, row->cfa_offset};
}

}  // namespace

TEST_CASE("without instructions of its own a description has the row of its common entry") {
    const auto row = last_row({});
    REQUIRE(row);
    CHECK(row->start == code_start);
    CHECK(row->end == code_end);
    CHECK(row->cfa_register == 7);
    CHECK(row->cfa_offset == 8);
    CHECK(row->of[16] == CfiRule{How::offset, 0, -8});
    CHECK(row->of[3] == CfiRule{How::unspecified, 0, 0});
}

TEST_CASE("each instruction for the CFA") {
    CHECK(cfa_of({DW_CFA_def_cfa, 6, 0x90, 1}) == Cfa{6, 0x90});
    CHECK(cfa_of({DW_CFA_def_cfa_sf, 6, 0x7e}) == Cfa{6, 16});
    CHECK(cfa_of({DW_CFA_def_cfa_register, 6}) == Cfa{6, 8});
    CHECK(cfa_of({DW_CFA_def_cfa_offset, 16}) == Cfa{7, 16});
    CHECK(cfa_of({DW_CFA_def_cfa_offset_sf, 0x7d}) == Cfa{7, 24});
    HandMadeSection section;
    section.instructions = {DW_CFA_def_cfa_expression, 2, DW_OP_breg7, 8};
    const auto row = section.row(code_start);
    REQUIRE(row);
    CHECK(row->cfa.how == How::val_expression);
    const auto expression = expression_of({section.bytes.span()}, row->cfa);
    REQUIRE(expression.size() == 2);
    CHECK(std::to_integer<unsigned>(expression[0]) == DW_OP_breg7);
    CHECK_FALSE(last_row({DW_CFA_def_cfa_expression, 2, DW_OP_breg7, 8, DW_CFA_def_cfa_offset, 8}));
    CHECK(cfa_of({DW_CFA_def_cfa_offset, 24, DW_CFA_def_cfa_expression, 2, DW_OP_breg7, 8, DW_CFA_def_cfa_register,
                  6}) == Cfa{6, 24});
}

TEST_CASE("each instruction for a register") {
    CHECK(rule_of({DW_CFA_offset | 3, 2}, 3) == CfiRule{How::offset, 0, -16});
    CHECK(rule_of({DW_CFA_offset_extended, 3, 3}, 3) == CfiRule{How::offset, 0, -24});
    CHECK(rule_of({DW_CFA_offset_extended_sf, 3, 0x7f}, 3) == CfiRule{How::offset, 0, 8});
    CHECK(rule_of({DW_CFA_GNU_negative_offset_extended, 3, 2}, 3) == CfiRule{How::offset, 0, 16});
    CHECK(rule_of({DW_CFA_val_offset, 3, 2}, 3) == CfiRule{How::val_offset, 0, -16});
    CHECK(rule_of({DW_CFA_val_offset_sf, 3, 0x7e}, 3) == CfiRule{How::val_offset, 0, 16});
    CHECK(rule_of({DW_CFA_register, 16, 3}, 16) == CfiRule{How::in_register, 0, 3});
    CHECK(rule_of({DW_CFA_undefined, 16}, 16) == CfiRule{How::undefined, 0, 0});
    CHECK(rule_of({DW_CFA_same_value, 16}, 16) == CfiRule{How::same_value, 0, 0});
    CHECK(rule_of({DW_CFA_undefined, 16, DW_CFA_restore | 16}, 16) == CfiRule{How::offset, 0, -8});
    CHECK(rule_of({DW_CFA_undefined, 16, DW_CFA_restore_extended, 16}, 16) == CfiRule{How::offset, 0, -8});
    CHECK(rule_of({DW_CFA_expression, 6, 2, DW_OP_breg6, 0}, 6).how == How::expression);
    CHECK(rule_of({DW_CFA_val_expression, 6, 2, DW_OP_breg6, 0}, 6).how == How::val_expression);
}

TEST_CASE("each instruction that advances, and the row before it") {
    const auto check = [](const CfiBytes& advance, std::uint64_t to) {
        HandMadeSection section;
        section.instructions.add(advance).add({DW_CFA_def_cfa_offset, 16});
        const auto before = section.row(to - 1), after = section.row(to);
        REQUIRE(before);
        REQUIRE(after);
        CHECK(before->start == code_start);
        CHECK(before->end == to);
        CHECK(before->cfa_offset == 8);
        CHECK(after->start == to);
        CHECK(after->end == code_end);
        CHECK(after->cfa_offset == 16);
    };
    check({DW_CFA_advance_loc | 5}, code_start + 5);
    check({DW_CFA_advance_loc1, 0x41}, code_start + 0x41);
    check({DW_CFA_advance_loc2, 0x42, 0}, code_start + 0x42);
    check({DW_CFA_advance_loc4, 0x43, 0, 0, 0}, code_start + 0x43);
    check({0x1d, 0x44, 0, 0, 0, 0, 0, 0, 0}, code_start + 0x44);  // DW_CFA_MIPS_advance_loc8
    check({DW_CFA_set_loc, 0x45, 0x10, 0, 0, 0, 0, 0, 0}, code_start + 0x45);
}

TEST_CASE("what unwinding has no use for is passed over") {
    const auto plain = last_row({});
    for (const CfiBytes& instructions :
         {CfiBytes{DW_CFA_nop}, CfiBytes{DW_CFA_GNU_args_size, 0x80, 1}, CfiBytes{0x2d}, CfiBytes{0x2c}}) {
        const auto row = last_row(instructions);
        REQUIRE(row);
        CHECK(row->cfa_offset == plain->cfa_offset);
        CHECK(row->of == plain->of);
    }
}

TEST_CASE("states are remembered, as deep as any code has them") {
    CHECK(cfa_of({DW_CFA_remember_state, DW_CFA_def_cfa_offset, 16, DW_CFA_restore_state}) == Cfa{7, 8});
    CHECK(cfa_of({DW_CFA_remember_state, DW_CFA_def_cfa_offset, 16, DW_CFA_remember_state, DW_CFA_def_cfa_offset, 24,
                  DW_CFA_restore_state}) == Cfa{7, 16});
    CHECK_FALSE(last_row({DW_CFA_restore_state}));
    CfiBytes deep;
    for (int i = 0; i < 8; ++i) deep.add({DW_CFA_remember_state});
    CHECK(last_row(deep));
    CHECK_FALSE(last_row(deep.add({DW_CFA_remember_state})));
}

TEST_CASE("registers of any number take no room") {
    CHECK(last_row({DW_CFA_offset_extended, 0x80, 0x87, 0xa7, 0x0e, 2}));  // 30,000,000
    CHECK(rule_of({DW_CFA_undefined, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 16).how == How::offset);
    CHECK(cfa_of({DW_CFA_def_cfa_register, 0x80, 0x87, 0xa7, 0x0e}).base == 30'000'000);
    CHECK(last_row({})->lookup(30'000'000) == CfiRule{How::unspecified, 0, 0});
}

TEST_CASE("wrong instructions give no row, but for the rows before them") {
    for (const CfiBytes& wrong : {CfiBytes{0x3f},                                    // no instruction
                                  CfiBytes{DW_CFA_def_cfa_offset},                   // no operand
                                  CfiBytes{DW_CFA_advance_loc2, 1},                  // half of one
                                  CfiBytes{DW_CFA_def_cfa_expression, 9, 0x77},      // an expression beyond the end
                                  CfiBytes{DW_CFA_set_loc, 0, 0, 0, 0, 0, 0, 0, 0},  // back
                                  CfiBytes{DW_CFA_offset | 3, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2},
                                  CfiBytes{0x1d, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}) {
        HandMadeSection section;
        section.instructions.add({DW_CFA_advance_loc | 16}).add(wrong);
        CHECK(section.row(code_start + 15));
        CHECK_FALSE(section.row(code_start + 16));
    }
    HandMadeSection advancing;
    advancing.initial.add({DW_CFA_advance_loc | 1});
    CHECK_FALSE(advancing.row(code_start));
    HandMadeSection restoring;
    restoring.initial.add({DW_CFA_restore | 3});
    CHECK_FALSE(restoring.row(code_start));
}

TEST_CASE("addresses outside of the description have no row") {
    HandMadeSection section;
    CHECK_FALSE(section.row(code_start - 1));
    CHECK_FALSE(section.row(code_end));
}

TEST_CASE("versions and augmentations") {
    const auto with = [](std::uint8_t version, const char* letters, std::vector<std::uint8_t> data) {
        HandMadeSection section;
        section.version = version;
        section.augmentation = letters;
        section.augmentation_data = std::move(data);
        return section.row(code_start);
    };
    CHECK(with(1, "", {}));
    CHECK(with(3, "zR", {0}));
    CHECK(with(4, "zR", {0}));
    CHECK(with(1, "zPLR", {0x9b, 1, 2, 3, 4, 0x1b, 0}));  // a personality routine, indirect and relative
    CHECK(with(1, "zRS", {0}));
    CHECK(with(1, "zRB", {0}));
    CHECK(with(1, "zRG", {0}));
    CHECK(with(1, "zR?", {0, 1, 2, 3}));  // what is not known, and how long it is
    CHECK_FALSE(with(1, "?", {}));
    CHECK_FALSE(with(1, "eh", {0, 0, 0, 0, 0, 0, 0, 0}));
    CHECK_FALSE(with(2, "zR", {0}));
    CHECK_FALSE(with(5, "zR", {0}));
    CHECK_FALSE(with(1, "zR", {0x0d}));  // an encoding that is none
    CHECK_FALSE(with(1, "zR", {0x30}));  // relative to data
    CHECK_FALSE(with(1, "zR", {0x80}));  // indirect
    HandMadeSection debug;
    debug.is_debug_frame = true;
    debug.version = 4;
    debug.augmentation = "";
    debug.augmentation_data.clear();
    CHECK(debug.row(code_start));
}

TEST_CASE("a signal's frame and the column of the return address") {
    HandMadeSection section;
    section.augmentation = "zRS";
    const CfiSection made = section.make();
    const auto entry = cfi_entry_at(made, section.description);
    REQUIRE(entry);
    CHECK(entry->common.is_signal_frame);
    CHECK(entry->common.return_column == 16);
    CHECK(entry->common.data_alignment == -8);
}

TEST_CASE("nothing is read beyond the section, wherever it is cut") {
    HandMadeSection section;
    section.instructions = {DW_CFA_advance_loc | 5, DW_CFA_def_cfa_expression, 2, DW_OP_breg7, 8, DW_CFA_offset | 3, 2};
    const CfiSection whole = section.make();
    for (std::size_t size = 0; size < whole.bytes.size(); ++size) {
        // A copy of its own, so that the sanitizer sees each byte too many.
        const std::vector<std::byte> cut(whole.bytes.begin(), whole.bytes.begin() + static_cast<std::ptrdiff_t>(size));
        CHECK_FALSE(cfi_entry_at({cut}, section.description));
        cfi_entry_at({cut}, size / 2);
    }
}
