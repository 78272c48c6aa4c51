// Walks where no CFI says how to go on: frame records, and return addresses that follow calls.
#include <doctest/doctest.h>

#include "hand_made_rules.hpp"

using namespace flameprobe;
using namespace flameprobe::testing;

TEST_CASE("code without CFI is crossed only where a call proves it") {
    Scene scene;
    UnwindRule& leaf = scene.rules.add(0x1000, RuleKind::no_cfi);
    leaf.in_file = true;
    scene.rules.add(0x2000, RuleKind::step).cfa_offset = 8;
    scene.words[3] = 0x2001;
    scene.words[4] = 0x9001;
    scene.words.resize(200);  // more than are searched
    SUBCASE("nothing proves it") {
        CHECK(scene.go().end == WalkEnd::no_unwind_info);
        CHECK(scene.walk.frames.size() == 1);
    }
    SUBCASE("a return address behind a call to this code") {
        scene.rules.certain = {0x2001};
        scene.rules.calls = {0x9001};
        CHECK(addresses(scene.go()) == Addresses{0x1000, 0x2000, 0x9000});
        CHECK(scene.walk.end == WalkEnd::root);
    }
    SUBCASE("from then on every return address must follow a call") {
        scene.rules.certain = {0x2001};
        CHECK(scene.go().end == WalkEnd::no_unwind_info);
        CHECK(addresses(scene.walk) == Addresses{0x1000, 0x2000});
    }
    SUBCASE("a frame record that may be the caller's does not count, unless records are set up here") {
        scene.cursor.fp = stack_at + 16;
        scene.rules.calls = {0x2001, 0x9001};
        CHECK(scene.go().end == WalkEnd::no_unwind_info);
        leaf.keeps_records = true;
        CHECK(addresses(scene.go()) == Addresses{0x1000, 0x2000, 0x9000});
    }
    SUBCASE("a record that could be the caller's gives way to a certain return address below it") {
        leaf.keeps_records = true;
        scene.cursor.fp = stack_at + 48;
        scene.rules.add(0x3000, RuleKind::root);
        scene.words[7] = 0x3001;
        scene.rules.calls = {0x3001, 0x9001};
        scene.rules.certain = {0x2001};
        CHECK(addresses(scene.go()) == Addresses{0x1000, 0x2000, 0x9000});
        scene.rules.certain = {0x2001, 0x3001};
        CHECK(addresses(scene.go()) == Addresses{0x1000, 0x3000});
    }
    SUBCASE("before the record is made the return address is on top") {
        leaf.record = RecordState::before;
        scene.words[0] = 0x2001;
        scene.words[1] = 0x9001;
        scene.rules.calls = {0x2001, 0x9001};
        CHECK(addresses(scene.go()) == Addresses{0x1000, 0x2000, 0x9000});
    }
    SUBCASE("between push and mov it is the second word") {
        leaf.record = RecordState::half;
        scene.words[0] = 0x1234;
        scene.words[1] = 0x2001;
        scene.words[2] = 0x9001;
        scene.rules.calls = {0x2001, 0x9001};
        CHECK(addresses(scene.go()) == Addresses{0x1000, 0x2000, 0x9000});
    }
}

TEST_CASE("frame pointers: insane ones are not followed") {
    Scene scene;
    scene.rules.add(0x1000, RuleKind::no_cfi);
    scene.rules.add(0x2000, RuleKind::no_cfi);
    scene.rules.calls = {0x2001, 0x9001};
    scene.words[2] = stack_at + 40;
    scene.words[3] = 0x2001;
    scene.words[6] = 0x9001;
    const auto walked_with = [&](std::uint64_t fp) {
        scene.cursor.fp = fp;
        scene.go<true>();
        return scene.walk.frames.size();
    };
    CHECK(walked_with(stack_at + 16) == 3);
    CHECK(scene.walk.end == WalkEnd::root);
    CHECK(walked_with(stack_at + 17) == 1);
    CHECK(walked_with(stack_at - 8) == 1);
    CHECK(walked_with(0) == 1);
    CHECK(walked_with(~std::uint64_t{7}) == 1);
    CHECK(walked_with(stack_at + (1u << 20)) == 1);
    CHECK(scene.walk.end == WalkEnd::truncated);
}

TEST_CASE("frame pointers: the tail by CFI counts only if it reaches the root") {
    Scene scene;
    scene.rules.add(0x1000, RuleKind::no_cfi);
    scene.rules.add(0x2000, RuleKind::step).cfa_offset = 8;
    scene.cursor.fp = stack_at + 16;
    scene.words[2] = 1;  // main's caller keeps no frame pointer
    scene.words[3] = 0x2001;
    scene.rules.calls = {0x2001, 0x9001, 0x3001};
    SUBCASE("it does") {
        scene.words[4] = 0x9001;
        CHECK(addresses(scene.go<true>()) == Addresses{0x1000, 0x2000, 0x9000});
        CHECK(scene.walk.end == WalkEnd::root);
    }
    SUBCASE("it does not") {
        scene.rules.add(0x3000, RuleKind::no_cfi);
        scene.words[4] = 0x3001;
        CHECK(addresses(scene.go<true>()) == Addresses{0x1000, 0x2000});
        CHECK(scene.walk.end == WalkEnd::no_unwind_info);
    }
}
