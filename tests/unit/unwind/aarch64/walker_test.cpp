// What is different on aarch64: return addresses stay in a register until a function saves them, and may be signed.
#include <doctest/doctest.h>

#include "../hand_made_rules.hpp"

using namespace flameprobe;
using namespace flameprobe::testing;

namespace {

const Walk& go(Scene& scene) { return scene.go<false, ArchAarch64>(); }

}  // namespace

TEST_CASE("aarch64: a leaf's return address is in the link register, and its frame may be empty") {
    Scene scene;
    UnwindRule& leaf = scene.rules.add(0x1000, RuleKind::step);
    leaf.ra_slot = UnwindRule::same;
    scene.cursor.third = 0x2001;
    UnwindRule& caller = scene.rules.add(0x2000, RuleKind::step);
    caller.cfa_offset = 32;
    caller.ra_slot = caller.third_slot = -24;
    caller.fp_slot = -32;
    scene.words[1] = 0x9001;
    CHECK(addresses(go(scene)) == Addresses{0x1000, 0x2000, 0x9000});
    CHECK(scene.walk.end == WalkEnd::root);
    CHECK(scene.walk.frames[0].cfa == stack_at);
}

TEST_CASE("aarch64: signed return addresses lose their signature") {
    Scene scene;
    UnwindRule& leaf = scene.rules.add(0x1000, RuleKind::step);
    leaf.cfa_offset = 16;
    leaf.ra_slot = leaf.third_slot = -8;
    scene.words[1] = 0x00a0000000009001;  // above the 52 bits of an address that a kernel with pages of 16 KiB has
    CHECK(addresses(go(scene)) == Addresses{0x1000, 0x9000});
}

TEST_CASE("aarch64: a caller that claims an empty frame ends the walk") {
    Scene scene;
    UnwindRule& leaf = scene.rules.add(0x1000, RuleKind::step);
    leaf.ra_slot = UnwindRule::same;
    scene.cursor.third = 0x2001;
    scene.rules.add(0x2000, RuleKind::step).ra_slot = UnwindRule::same;
    CHECK(go(scene).end == WalkEnd::bad_cfa);
    CHECK(scene.walk.frames.size() == 2);
}

TEST_CASE("aarch64: a leaf without CFI is left through the link register if that follows a call to it") {
    Scene scene;
    UnwindRule& leaf = scene.rules.add(0x1000, RuleKind::no_cfi);
    leaf.in_file = true;
    scene.cursor.third = 0x2001;
    scene.rules.add(0x2000, RuleKind::step).cfa_offset = 16;
    scene.words[1] = 0x9001;
    scene.rules.calls = {0x9001};
    SUBCASE("it does") {
        scene.rules.certain = {0x2001};
        CHECK(addresses(go(scene)) == Addresses{0x1000, 0x2000, 0x9000});
    }
    SUBCASE("it does not") { CHECK(go(scene).end != WalkEnd::root); }
}

TEST_CASE("aarch64: frame records lead through code without CFI") {
    Scene scene;
    scene.rules.add(0x1000, RuleKind::no_cfi).keeps_records = true;
    scene.rules.add(0x2000, RuleKind::no_cfi).keeps_records = true;
    scene.rules.calls = {0x2001, 0x9001};
    scene.cursor.fp = stack_at;
    scene.words[0] = stack_at + 32;
    scene.words[1] = 0x2001;
    scene.words[5] = 0x9001;
    CHECK(addresses(go(scene)) == Addresses{0x1000, 0x2000, 0x9000});
}
