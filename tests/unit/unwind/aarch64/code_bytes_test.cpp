#include "unwind/code_bytes.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/syscall.h>

#include <initializer_list>
#include <vector>

#include "arch/aarch64/walk_facts.hpp"

using namespace flameprobe;

namespace {

constexpr std::uint32_t nop = 0xd503201f, svc_0 = 0xd4000001, ret = 0xd65f03c0, mov_x29_sp = 0x910003fd,
                        push_record = 0xa9bf7bfd, pop_record = 0xa8c17bfd, mov_x0_0 = 0xd2800000;

/// Instructions with others around them.
class Code {
public:
    Code(std::initializer_list<std::uint32_t> instructions) : words_(16, mov_x0_0) {
        words_.insert(words_.end(), instructions);
        words_.insert(words_.end(), 16, mov_x0_0);
    }
    std::uint64_t at(std::size_t instruction) const {
        return reinterpret_cast<std::uint64_t>(words_.data() + 16 + instruction);
    }

private:
    std::vector<std::uint32_t> words_;
};

std::optional<unsigned> number_after(std::initializer_list<std::uint32_t> code) {
    return system_call_number(Code(code).at(code.size()));
}

UnwindRule epilogue(const Code& code, std::size_t instruction) {
    UnwindRule rule;
    REQUIRE(epilogue_rule(code.at(instruction), rule));
    return rule;
}

}  // namespace

TEST_CASE("aarch64: a system call's number is known if nothing can change it before the instruction") {
    CHECK(number_after({0xd28007e8, svc_0}) == 63);              // mov x8, #63
    CHECK(number_after({0x52800c48, svc_0}) == 98);              // mov w8, #98
    CHECK(number_after({0xd2800c48, 0xaa0103e3, svc_0}) == 98);  // then mov x3, x1
    CHECK(!number_after({0xd2800c48, 0xaa0003e8, svc_0}));       // then mov x8, x0
    CHECK(!number_after({0xd2800c48, 0xa9402008, svc_0}));       // then ldp x8, x8, [x0]
    CHECK(!number_after({0xd2800c48, 0xd63f0000, svc_0}));       // a call between
    CHECK(!number_after({0xd28007e8, nop}));                     // no svc
    const Code again{0xd28007e8, svc_0};
    CHECK(system_call_number(again.at(1)) == 63);
    CHECK(!system_call_number(0x1000));
}

TEST_CASE("aarch64: where a frame record is being made or taken down, the return address is in x30") {
    const Code code{0xd503233f, push_record, mov_x29_sp, nop, mov_x0_0, pop_record, 0xd50323bf, ret};
    CHECK(record_state(code.at(0)) == RecordState::before);  // paciasp
    CHECK(record_state(code.at(1)) == RecordState::before);
    CHECK(record_state(code.at(2)) == RecordState::half);
    CHECK(record_state(code.at(4)) == RecordState::made);
    CHECK(record_state(code.at(6)) == RecordState::before);  // autiasp
    CHECK(record_state(code.at(7)) == RecordState::before);
    const Code large{0xd10803ff, 0xa9017bfd, 0x910043fd, mov_x0_0, 0xa9417bfd, 0x910803ff, ret};
    CHECK(record_state(large.at(0)) == RecordState::before);  // sub sp, sp, #512
    CHECK(record_state(large.at(1)) == RecordState::before);  // stp x29, x30, [sp, #16]
    CHECK(record_state(large.at(2)) == RecordState::half);    // add x29, sp, #16
    CHECK(record_state(large.at(3)) == RecordState::made);
    CHECK(record_state(large.at(5)) == RecordState::before);  // add sp, sp, #512
    CHECK(last_record_set_up(large.at(0), large.at(3)) == large.at(1));
    CHECK(last_record_set_up(code.at(0), code.at(1)) == 0);
}

TEST_CASE("aarch64: an epilogue of loads and moves of the stack pointer gives a rule") {
    const Code keeper{0xa9be7bfd, 0xf9000bf3, 0xd11003ff, 0xd63f0000, 0x911003ff, 0xf9400bf3, 0xa8c27bfd, ret};
    const UnwindRule inside = epilogue(keeper, 4);
    CHECK(inside.cfa_offset == 1024 + 32);
    CHECK(inside.ra_slot == -24);
    CHECK(inside.fp_slot == -32);
    CHECK(epilogue(keeper, 6).cfa_offset == 32);
    const UnwindRule entry = epilogue(keeper, 0);
    CHECK(entry.cfa_offset == 0);
    CHECK(entry.ra_slot == UnwindRule::same);
    UnwindRule rule;
    CHECK_FALSE(epilogue_rule(keeper.at(7), rule));      // a leaf's end looks the same
    CHECK_FALSE(epilogue_rule(keeper.at(4) + 2, rule));  // no instruction begins there
    const Code unknown{0x910003bf, pop_record, ret};     // mov sp, x29
    CHECK_FALSE(epilogue_rule(unknown.at(0), rule));
}

TEST_CASE("aarch64: PLT entries are known, plain and guarded, also the first one after its push") {
    constexpr std::uint32_t adrp = 0xb0000090, load = 0xf9400211, add = 0x91000210, jump = 0xd61f0220,
                            bti_c = 0xd503245f;
    const Code plain{adrp, load, add, jump}, guarded{bti_c, adrp, load, add, jump, nop};
    for (const std::size_t i : {0, 1, 2, 3}) {
        UnwindRule rule;
        REQUIRE(known_code_rule(plain.at(i), rule));
        CHECK((rule.kind == RuleKind::step));
        CHECK(rule.cfa_offset == 0);
        CHECK(rule.ra_slot == UnwindRule::same);
        CHECK(known_code_rule(guarded.at(i + 1), rule));
    }
    UnwindRule rule;
    CHECK(known_code_rule(guarded.at(0), rule));
    CHECK_FALSE(known_code_rule(plain.at(4), rule));
    const Code first{0xa9bf7bf0, adrp, load, add, jump};
    REQUIRE(known_code_rule(first.at(0), rule));
    CHECK(rule.cfa_offset == 0);
    REQUIRE(known_code_rule(first.at(2), rule));
    CHECK(rule.cfa_offset == 16);
    CHECK(rule.ra_slot == -8);
}

TEST_CASE("aarch64: the signal trampoline is known by its bytes, and its frame is the kernel's") {
    const Code code{nop, 0xd2801168, svc_0};
    for (const std::uint64_t address : {code.at(1) - 1, code.at(1), code.at(2)}) {
        UnwindRule rule;
        REQUIRE(known_code_rule(address, rule));
        CHECK((rule.signal_frame && rule.cfa_is_loaded));
        CHECK(rule.cfa_offset == 560);
        CHECK(rule.ra_slot == 568);
    }
    UnwindRule rule;
    CHECK_FALSE(known_code_rule(code.at(0) - 4, rule));
}

TEST_CASE("aarch64: _dl_runtime_resolve's return address lies in what the PLT pushed") {
    UnwindRule rule;
    rule.cfa_offset = 208;
    rule.ra_slot = 8;
    rule.fp_slot = -208;
    mend_table_rule(rule);
    CHECK(rule.cfa_offset == 224);
    CHECK(rule.ra_slot == -8);
    CHECK(rule.fp_slot == -224);
    CHECK(rule.third_slot == UnwindRule::same);
    rule = UnwindRule();
    rule.ra_slot = -8;
    mend_table_rule(rule);
    CHECK(rule.ra_slot == -8);
}

TEST_CASE("aarch64: before _dl_runtime_resolve's first push, what the PLT pushed is on the stack too") {
    constexpr std::uint32_t push_x8_x9 = 0xa9b327e8, store_x6_x7 = 0xa9011fe6;
    const Code resolver{nop, push_x8_x9, store_x6_x7}, other{nop, push_x8_x9, nop};
    UnwindRule rule;
    rule.address = resolver.at(0);
    rule.ra_slot = UnwindRule::same;
    mend_table_rule(rule);
    CHECK(rule.cfa_offset == 16);
    CHECK(rule.ra_slot == -8);
    for (const std::uint64_t address : {other.at(0), resolver.at(1)}) {
        UnwindRule same;
        same.address = address;
        same.ra_slot = UnwindRule::same;
        mend_table_rule(same);
        CHECK(same.cfa_offset == 0);
        CHECK(same.ra_slot == UnwindRule::same);
    }
}

TEST_CASE("aarch64: the stack that a function has taken while its return address is in x30 is found in its code") {
    // sub sp, sp, #32; str x1, [sp]; add x0, x0, x0; cmp x0, x1; ldr x1, [sp]; add sp, sp, #32; ret
    const Code leaf{0xd10083ff, 0xf90003e1, 0x8b000000, 0xeb01001f, 0xf94003e1, 0x910083ff, ret};
    CHECK(frame_before_record(leaf.at(0)) == 0);
    for (std::size_t i = 1; i <= 5; ++i) CHECK(frame_before_record(leaf.at(i)) == 32);
    CHECK(frame_before_record(leaf.at(6)) == 0);
    CHECK(frame_before_record(leaf.at(3) + 2) == 0);
    constexpr std::uint32_t call = 0xd63f0000;
    const Code pushing{ret, 0xd503233f, push_record, mov_x29_sp, call};
    CHECK(frame_before_record(pushing.at(1)) == 0);
    CHECK(frame_before_record(pushing.at(2)) == 0);
    CHECK(frame_before_record(pushing.at(3)) == 16);
    const Code large{ret, 0xd10803ff, 0xa9017bfd, 0x910043fd, call};  // sub sp, sp, #512; stp x29, x30, [sp, #16]
    CHECK(frame_before_record(large.at(1)) == 0);
    CHECK(frame_before_record(large.at(2)) == 512);
    CHECK(frame_before_record(large.at(3)) == 512);
    const Code vectors{0x6dbe27e8, 0x1e602800, 0x6cc227e8,
                       ret};  // stp d8, d9, [sp, #-32]!; fadd; ldp d8, d9, [sp], #32
    CHECK(frame_before_record(vectors.at(1)) == 32);
    const Code popped{0xf84107fe, ret};  // ldr x30, [sp], #16: it is not in x30 yet
    CHECK(frame_before_record(popped.at(0)) == 0);
    const Code moved{0x8b2063ff, ret};  // add sp, sp, x0
    CHECK(frame_before_record(moved.at(0)) == 0);
}

TEST_CASE("aarch64: the bits of a return address that are its signature are found out from the CPU") {
    ArchAarch64::learn_address_bits();
    const auto here = reinterpret_cast<std::uint64_t>(&ret);
    CHECK(ArchAarch64::strip(here) == here);
    CHECK((ArchAarch64::address_mask & 0x0000ffffffffffff) == 0x0000ffffffffffff);
    CHECK((ArchAarch64::address_mask & (ArchAarch64::address_mask + 1)) == 0);  // all ones from the right
}
