// Stacks that a program has made for itself: where they begin, and where what lies above them does not matter.
#include <doctest/doctest.h>

#include "hand_made_rules.hpp"

using namespace flameprobe;
using namespace flameprobe::testing;

namespace {

/// work() at 0x1000, called by a coroutine's first function at 0x2000, whose return address is words[3].
struct Coroutine : Scene {
    Coroutine() {
        rules.add(0x1000, RuleKind::step).cfa_offset = 16;
        words[1] = 0x2001;
        rules.add(0x2000, RuleKind::step).cfa_offset = 16;
        rules.certain = {0x2001};
        cursor.fp = 0x1234;
    }
    WalkEnd end_with_first() {
        CHECK(addresses(go()) == Addresses{0x1000, 0x2000});
        return walk.end;
    }
};

}  // namespace

TEST_CASE("above a coroutine's stack may lie anything that did not call its first function") {
    Coroutine scene;
    scene.words[8] = 0x9001;
    scene.rules.elsewhere = {0x9001};
    CHECK(scene.end_with_first() == WalkEnd::root);
    SUBCASE("a call that may lead to it") {
        scene.rules.elsewhere.clear();
        scene.rules.calls = {0x9001};
        CHECK(scene.end_with_first() == WalkEnd::bad_return);
        scene.cursor.fp = 0;  // but two zeros are the end
        CHECK(scene.end_with_first() == WalkEnd::root);
    }
    SUBCASE("a call in code without tables") {
        scene.rules.rules[0x9000].kind = RuleKind::no_cfi;
        CHECK(scene.end_with_first() == WalkEnd::bad_return);
    }
    SUBCASE("the first function did not call the one below") {
        scene.rules.certain.clear();
        scene.rules.elsewhere.insert(0x2001);
        CHECK(scene.end_with_first() == WalkEnd::bad_return);
    }
}

TEST_CASE("a return address that no program can have ends a stack") {
    Coroutine scene;
    for (const std::uint64_t nowhere : {std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{0xdeadbeefdeadbeef}}) {
        scene.words[3] = nowhere;
        CHECK(scene.end_with_first() == WalkEnd::root);
    }
    scene.words[3] = 0x5555'5555'5000;  // may be code that is not known yet
    CHECK(scene.end_with_first() == WalkEnd::bad_return);
    scene.rules.traps = {0x2001};  // but its function does not return
    CHECK(scene.end_with_first() == WalkEnd::root);
}

TEST_CASE("code without tables behind no call is no caller") {
    Coroutine scene;
    scene.words[3] = 0x3001;
    scene.rules.add(0x3000, RuleKind::no_cfi).starts_stack = StackStart::untabled;
    CHECK(scene.end_with_first() == WalkEnd::root);
    scene.words[8] = 0x9001;
    scene.rules.calls = {0x9001};
    CHECK(scene.end_with_first() == WalkEnd::no_unwind_info);
}

TEST_CASE("code without tables that never returns is where a coroutine begins") {
    Coroutine scene;
    scene.words.resize(200);
    scene.words[3] = 0x3001;
    scene.rules.add(0x3000, RuleKind::no_cfi).in_file = true;
    scene.rules.calls = {0x3001};
    const auto end = [&] {
        CHECK(addresses(scene.go()) == Addresses{0x1000, 0x2000, 0x3000});
        return scene.walk.end;
    };
    CHECK(end() == WalkEnd::no_unwind_info);
    scene.rules.traps = {0x3001};
    CHECK(end() == WalkEnd::root);
    scene.words[150] = 0x9001;
    scene.rules.calls.insert(0x9001);
    CHECK(end() == WalkEnd::no_unwind_info);
}

TEST_CASE("code without tables that the start code called has no other caller where no other return address stands") {
    Coroutine scene;
    scene.words.resize(200);
    scene.words[3] = 0x3001;
    scene.words[9] = 0x4001;
    scene.rules.add(0x3000, RuleKind::no_cfi).in_file = true;
    scene.rules.add(0x4000, RuleKind::no_cfi).in_file = true;
    scene.rules.calls = {0x3001, 0x4001, 0x5001};
    scene.rules.first_calls = {0x4001};
    CHECK(addresses(scene.go()) == Addresses{0x1000, 0x2000, 0x3000});
    CHECK(scene.walk.end == WalkEnd::root);
    scene.words[6] = 0x5001;
    scene.rules.add(0x5000, RuleKind::no_cfi).in_file = true;
    CHECK(addresses(scene.go()) == Addresses{0x1000, 0x2000, 0x3000});
    CHECK(scene.walk.end == WalkEnd::no_unwind_info);
}

TEST_CASE("a leaf without tables may return by a register, and to a coroutine that is certain") {
    Coroutine scene;
    scene.cursor.pc = 0x4000;
    UnwindRule& leaf = scene.rules.add(0x4000, RuleKind::no_cfi);
    leaf.from_code = true;
    leaf.ra_register = 1;
    scene.rules.in_register = 0x1001;
    scene.rules.certain.insert(0x1001);
    CHECK(addresses(scene.go()) == Addresses{0x4000, 0x1000, 0x2000});
    CHECK(scene.walk.end == WalkEnd::root);
    scene.rules.certain.erase(0x2001);
    CHECK(addresses(scene.go()) == Addresses{0x4000, 0x1000});
    scene.rules.in_register = 0;
    CHECK(addresses(scene.go()) == Addresses{0x4000});
}
