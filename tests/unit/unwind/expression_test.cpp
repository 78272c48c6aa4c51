// DWARF expressions, those that real tables have and those that no table should have.
#include "unwind/expression.hpp"

#include <doctest/doctest.h>
#include <dwarf.h>

#include <map>

#include "cfi_bytes.hpp"

using namespace flameprobe;
using namespace flameprobe::testing;

namespace {

class HandMadeFrame final : public FrameState {
public:
    std::map<std::uint64_t, std::uint64_t> registers;
    std::map<std::uint64_t, std::uint64_t> words;

    std::optional<std::uint64_t> register_value(std::uint64_t number) override { return of(registers, number); }
    std::optional<std::uint64_t> word(std::uint64_t address) override { return of(words, address); }

private:
    static std::optional<std::uint64_t> of(const std::map<std::uint64_t, std::uint64_t>& map, std::uint64_t key) {
        const auto found = map.find(key);
        return found == map.end() ? std::nullopt : std::optional(found->second);
    }
};

constexpr std::uint64_t cfa = 0x7000;

/// Of a register's expression, which has the CFA on its stack.
std::optional<std::uint64_t> of(const CfiBytes& expression, HandMadeFrame frame = {}) {
    return evaluate(expression.span(), cfa, frame);
}

std::uint64_t number_of(const CfiBytes& expression, HandMadeFrame frame = {}) {
    const auto result = of(expression, std::move(frame));
    REQUIRE(result);
    return *result;
}

CfiBytes constant(std::int64_t value) { return CfiBytes{DW_OP_const8s}.number(value); }

}  // namespace

TEST_CASE("a signal frame's CFA is a word of the saved context") {
    HandMadeFrame frame;
    frame.registers[7] = 0x5000;
    frame.words[0x50a0] = 0x1234;
    const CfiBytes at_a0 = {DW_OP_breg7, 0xa0, 1, DW_OP_deref}, at_a8 = {DW_OP_breg7, 0xa8, 1, DW_OP_deref};
    CHECK(evaluate(at_a0.span(), std::nullopt, frame) == 0x1234);
    CHECK_FALSE(evaluate(at_a8.span(), std::nullopt, frame));
    CHECK_FALSE(of({DW_OP_breg3, 0}, frame));
    CHECK(number_of({DW_OP_bregx, 7, 0x78}, frame) == 0x4ff8);
}

TEST_CASE("the CFA is there when a register's expression begins, and not when its own does") {
    HandMadeFrame frame;
    CHECK(number_of({DW_OP_plus_uconst, 8}) == cfa + 8);
    CHECK(number_of({DW_OP_lit8, DW_OP_minus}) == cfa - 8);
    CHECK_FALSE(evaluate(CfiBytes{DW_OP_plus_uconst, 8}.span(), std::nullopt, frame));
}

TEST_CASE("constants of each size") {
    const auto value = [](const CfiBytes& bytes) { return static_cast<std::int64_t>(number_of(bytes)); };
    CHECK(value({DW_OP_const1u, 0xff}) == 255);
    CHECK(value({DW_OP_const1s, 0xff}) == -1);
    CHECK(value({DW_OP_const2u, 0xff, 0xff}) == 65535);
    CHECK(value({DW_OP_const2s, 0xff, 0xff}) == -1);
    CHECK(value({DW_OP_const4u, 0xff, 0xff, 0xff, 0xff}) == 0xffffffff);
    CHECK(value({DW_OP_const4s, 0xff, 0xff, 0xff, 0xff}) == -1);
    CHECK(value(constant(INT64_MIN)) == INT64_MIN);
    CHECK(value({DW_OP_constu, 0x80, 1}) == 128);
    CHECK(value({DW_OP_consts, 0x80, 0x7f}) == -128);
    CHECK_FALSE(of({DW_OP_const4u, 0xff}));
    CHECK_FALSE(of({DW_OP_constu, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2}));
    CHECK_FALSE(of({DW_OP_consts, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1}));
}

TEST_CASE("arithmetic is of 64 bits, comparison and division are signed") {
    const auto both = [](unsigned operation, std::int64_t left, std::int64_t right) {
        return static_cast<std::int64_t>(
            number_of(CfiBytes().add(constant(left)).add(constant(right)).add(CfiBytes{operation})));
    };
    CHECK(both(DW_OP_plus, 3, -5) == -2);
    CHECK(both(DW_OP_minus, 3, 5) == -2);
    CHECK(both(DW_OP_mul, -3, 5) == -15);
    CHECK(both(DW_OP_div, -7, 2) == -3);
    CHECK(both(DW_OP_mod, 7, 4) == 3);
    CHECK(both(DW_OP_and, 6, 3) == 2);
    CHECK(both(DW_OP_or, 6, 3) == 7);
    CHECK(both(DW_OP_xor, 6, 3) == 5);
    CHECK(both(DW_OP_shra, -8, 1) == -4);
    CHECK(both(DW_OP_shra, -8, 200) == -1);
    CHECK(both(DW_OP_shr, -1, 63) == 1);
    CHECK(both(DW_OP_shl, 1, 64) == 0);
    CHECK(both(DW_OP_lt, -1, 0) == 1);
    CHECK(both(DW_OP_ge, -1, 0) == 0);
    CHECK(both(DW_OP_eq, 4, 4) == 1);
    CHECK(both(DW_OP_ne, 4, 4) == 0);
    CHECK(both(DW_OP_le, 4, 4) == 1);
    CHECK(both(DW_OP_gt, 4, 4) == 0);
    CHECK(static_cast<std::int64_t>(number_of({DW_OP_lit1, DW_OP_neg})) == -1);
    CHECK(number_of({DW_OP_lit1, DW_OP_neg, DW_OP_abs}) == 1);
    CHECK(number_of({DW_OP_lit0, DW_OP_not}) == ~std::uint64_t{0});
    CHECK_FALSE(of({DW_OP_lit1, DW_OP_lit0, DW_OP_div}));
    CHECK_FALSE(of({DW_OP_lit1, DW_OP_lit0, DW_OP_mod}));
    CHECK_FALSE(of(CfiBytes().add(constant(INT64_MIN)).add(constant(-1)).add(CfiBytes{DW_OP_div})));
}

TEST_CASE("the stack is arranged") {
    HandMadeFrame frame;
    CHECK(number_of({DW_OP_lit1, DW_OP_lit2, DW_OP_swap, DW_OP_minus}) == 1);
    CHECK(number_of({DW_OP_lit1, DW_OP_lit2, DW_OP_lit3, DW_OP_rot}) == 2);
    CHECK(number_of({DW_OP_lit1, DW_OP_lit2, DW_OP_lit3, DW_OP_rot, DW_OP_drop}) == 1);
    CHECK(number_of({DW_OP_lit1, DW_OP_lit2, DW_OP_lit3, DW_OP_pick, 2}) == 1);
    CHECK(number_of({DW_OP_lit3, DW_OP_dup, DW_OP_mul}) == 9);
    CHECK(number_of({DW_OP_lit1, DW_OP_over}) == cfa);
    CHECK_FALSE(of({DW_OP_drop, DW_OP_dup}));
    CHECK_FALSE(of({DW_OP_plus}));
    CHECK_FALSE(evaluate({}, std::nullopt, frame));
}

TEST_CASE("parts of words") {
    HandMadeFrame frame;
    frame.words[cfa] = 0x1122334455667788;
    CHECK(number_of({DW_OP_deref_size, 2}, frame) == 0x7788);
    CHECK(number_of({DW_OP_deref_size, 8}, frame) == 0x1122334455667788);
    CHECK_FALSE(of({DW_OP_deref_size, 9}, frame));
    CHECK_FALSE(of({DW_OP_deref_size, 0}, frame));
}

TEST_CASE("a branch counts bytes from its own end") {
    CHECK(number_of({DW_OP_lit1, DW_OP_bra, 1, 0, DW_OP_lit5, DW_OP_lit7, DW_OP_plus}) == cfa + 7);
    CHECK(number_of({DW_OP_lit0, DW_OP_bra, 1, 0, DW_OP_lit5, DW_OP_lit7, DW_OP_plus}) == 12);
    CHECK(number_of({DW_OP_skip, 1, 0, DW_OP_lit5}) == cfa);
    CHECK_FALSE(of({DW_OP_lit1, DW_OP_bra, 77, 0}));
    CHECK_FALSE(of({DW_OP_skip, 0xfc, 0xff}));  // before the first
}

TEST_CASE("an expression without end, and one that grows without end, are given up") {
    CHECK_FALSE(of({DW_OP_skip, 0xfd, 0xff}));
    CHECK_FALSE(of({DW_OP_lit1, DW_OP_skip, 0xfc, 0xff}));
}

TEST_CASE("what no frame can say ends the evaluation") {
    CHECK_FALSE(of(CfiBytes{DW_OP_addr}.number(std::uint64_t{0x1000})));
    CHECK_FALSE(of({DW_OP_lit1, DW_OP_entry_value}));
    CHECK_FALSE(of({DW_OP_call_frame_cfa}));
}

TEST_CASE("expressions that are a place, and those that are more") {
    const auto place = place_of(CfiBytes{DW_OP_breg6, 0x78, DW_OP_deref}.span());
    REQUIRE(place);
    CHECK(place->base == 6);
    CHECK(place->offset == -8);
    CHECK(place->loaded);
    CHECK(place_of(CfiBytes{DW_OP_bregx, 40, 8}.span())->base == 40);
    CHECK_FALSE(place_of(CfiBytes{DW_OP_plus_uconst, 8}.span())->base);
    CHECK(place_of(CfiBytes{DW_OP_plus_uconst, 8}.span())->offset == 8);
    CHECK_FALSE(place_of(CfiBytes{DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and}.span()));
    CHECK_FALSE(place_of(CfiBytes{DW_OP_breg7, 8, 0}.span()));
    CHECK_FALSE(place_of(CfiBytes{DW_OP_breg7}.span()));
}
