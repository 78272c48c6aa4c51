// DWARF expressions, those that real tables have and those that no table should have.
#include <doctest/doctest.h>
#include <dwarf.h>

#include <map>
#include <vector>

#include "cpu/registers.hpp"
#include "unwind/irregular_stepper.hpp"

using namespace flameprobe;

namespace {

class HandMadeFrame final : public FrameState {
public:
    std::map<unsigned, std::uint64_t> registers;
    std::map<std::uint64_t, std::uint64_t> words;

    std::optional<std::uint64_t> register_value(unsigned number) override { return of(registers, number); }
    std::optional<std::uint64_t> word(std::uint64_t address) override { return of(words, address); }
    std::optional<std::uint64_t> cfa() override { return 0x7000; }

private:
    template <class Map>
    static std::optional<std::uint64_t> of(const Map& map, typename Map::key_type key) {
        const auto found = map.find(key);
        return found == map.end() ? std::nullopt : std::optional(found->second);
    }
};

Dwarf_Op op(unsigned atom, std::uint64_t number = 0, std::uint64_t number2 = 0, std::uint64_t offset = 0) {
    return {static_cast<std::uint8_t>(atom), number, number2, offset};
}

std::optional<Evaluated> of(const std::vector<Dwarf_Op>& operations, HandMadeFrame frame = {}) {
    return evaluate(operations.data(), operations.size(), frame);
}

std::uint64_t number_of(const std::vector<Dwarf_Op>& operations, HandMadeFrame frame = {}) {
    const auto result = of(operations, std::move(frame));
    REQUIRE(result);
    return result->number;
}

constexpr std::uint64_t minus(std::int64_t number) { return static_cast<std::uint64_t>(-number); }

}  // namespace

TEST_CASE("a signal frame's CFA is a word of the saved context") {
    HandMadeFrame frame;
    frame.registers[7] = 0x5000;
    frame.words[0x50a0] = 0x1234;
    CHECK(number_of({op(DW_OP_breg7, 0xa0), op(DW_OP_deref)}, frame) == 0x1234);
    CHECK_FALSE(of({op(DW_OP_breg7, 0xa8), op(DW_OP_deref)}, frame));
}

TEST_CASE("a place in memory and a value are told apart") {
    HandMadeFrame frame;
    frame.registers[3] = 17;
    CHECK_FALSE(of({op(DW_OP_call_frame_cfa), op(DW_OP_plus_uconst, minus(8))})->is_value);
    CHECK(of({op(DW_OP_call_frame_cfa), op(DW_OP_stack_value)})->is_value);
    CHECK(of({op(DW_OP_regx, 3)}, frame)->is_value);
    CHECK(number_of({op(DW_OP_reg3)}, frame) == 17);
    CHECK_FALSE(of({op(DW_OP_reg4)}, frame));
}

TEST_CASE("arithmetic is of 64 bits, comparison and division are signed") {
    const auto both = [](unsigned atom, std::int64_t left, std::int64_t right) {
        return static_cast<std::int64_t>(number_of({op(DW_OP_consts, static_cast<std::uint64_t>(left)),
                                                    op(DW_OP_consts, static_cast<std::uint64_t>(right)), op(atom)}));
    };
    CHECK(both(DW_OP_minus, 3, 5) == -2);
    CHECK(both(DW_OP_div, -7, 2) == -3);
    CHECK(both(DW_OP_mod, 7, 4) == 3);
    CHECK(both(DW_OP_shra, -8, 1) == -4);
    CHECK(both(DW_OP_shra, -8, 200) == -1);
    CHECK(both(DW_OP_shr, -1, 63) == 1);
    CHECK(both(DW_OP_shl, 1, 64) == 0);
    CHECK(both(DW_OP_lt, -1, 0) == 1);
    CHECK(both(DW_OP_ge, -1, 0) == 0);
    CHECK_FALSE(of({op(DW_OP_lit1), op(DW_OP_lit0), op(DW_OP_div)}));
    CHECK_FALSE(of({op(DW_OP_lit1), op(DW_OP_lit0), op(DW_OP_mod)}));
    CHECK_FALSE(of({op(DW_OP_const8s, std::uint64_t{1} << 63), op(DW_OP_const1s, minus(1)), op(DW_OP_div)}));
}

TEST_CASE("the stack is arranged") {
    CHECK(number_of({op(DW_OP_lit1), op(DW_OP_lit2), op(DW_OP_swap), op(DW_OP_minus)}) == 1);
    CHECK(number_of({op(DW_OP_lit1), op(DW_OP_lit2), op(DW_OP_lit3), op(DW_OP_rot)}) == 2);
    CHECK(number_of({op(DW_OP_lit1), op(DW_OP_lit2), op(DW_OP_lit3), op(DW_OP_rot), op(DW_OP_drop)}) == 1);
    CHECK(number_of({op(DW_OP_lit1), op(DW_OP_lit2), op(DW_OP_lit3), op(DW_OP_pick, 2)}) == 1);
    CHECK_FALSE(of({op(DW_OP_lit1), op(DW_OP_over)}));
    CHECK_FALSE(of({}));
    CHECK_FALSE(of({op(DW_OP_plus)}));
}

TEST_CASE("parts of words") {
    HandMadeFrame frame;
    frame.words[0x7000] = 0x1122334455667788;
    CHECK(number_of({op(DW_OP_call_frame_cfa), op(DW_OP_deref_size, 2)}, frame) == 0x7788);
    CHECK(number_of({op(DW_OP_call_frame_cfa), op(DW_OP_deref_size, 8)}, frame) == 0x1122334455667788);
    CHECK_FALSE(of({op(DW_OP_call_frame_cfa), op(DW_OP_deref_size, 9)}, frame));
}

TEST_CASE("a branch counts bytes from its own end") {
    // 0: lit1  1: bra +1  4: lit5 (skipped)  5: lit7; in front of it libdw's own operation, at 0 too.
    const std::vector<Dwarf_Op> taken = {op(DW_OP_call_frame_cfa), op(DW_OP_lit1, 0, 0, 0), op(DW_OP_bra, 1, 0, 1),
                                         op(DW_OP_lit5, 0, 0, 4),  op(DW_OP_lit7, 0, 0, 5), op(DW_OP_plus, 0, 0, 6)};
    CHECK(number_of(taken) == 0x7007);
    CHECK_FALSE(of({op(DW_OP_lit1), op(DW_OP_bra, 77, 0, 1)}));
}

TEST_CASE("an expression without end, and one that grows without end, are given up") {
    CHECK_FALSE(of({op(DW_OP_skip, minus(3), 0, 0), op(DW_OP_lit1, 0, 0, 3)}));
    CHECK_FALSE(of({op(DW_OP_lit1, 0, 0, 0), op(DW_OP_skip, minus(4), 0, 1)}));
}

TEST_CASE("what no frame can say ends the evaluation") {
    CHECK_FALSE(of({op(DW_OP_addr, 0x1000)}));
    CHECK_FALSE(of({op(DW_OP_lit1), op(DW_OP_entry_value)}));
}
