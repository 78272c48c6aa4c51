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
    SUBCASE("a record that leads to no code may lead to what is not known yet") {
        leaf.keeps_records = true;
        scene.cursor.fp = stack_at + 16;
        scene.words[3] = 0x5001;
        CHECK(scene.go().end == WalkEnd::bad_return);
        CHECK(scene.walk.frames.size() == 1);
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

TEST_CASE("code made at run time may go on in the frame of the interpreter that jumped into it") {
    Scene scene;
    scene.rules.add(0x1000, RuleKind::no_cfi);
    UnwindRule interpreter;
    interpreter.kind = RuleKind::step;
    interpreter.cfa_offset = 32;
    interpreter.ra_slot = -8;
    interpreter.fp_slot = -16;
    scene.rules.one_frame = {{0x2001, interpreter}};
    scene.rules.calls = {0x2001, 0x9001};
    UnwindRule& caller = scene.rules.add(0x2000, RuleKind::step);
    caller.base = RuleBase::fp;
    caller.cfa_offset = 16;
    scene.words.resize(1000);
    scene.words[1] = 0x2001;  // stale: its frame would begin below the stack pointer
    scene.words[6] = stack_at + 9 * 8;
    scene.words[7] = 0x2001;
    scene.words[10] = 0x9001;
    CHECK(addresses(scene.go()) == Addresses{0x1000, 0x2000, 0x9000});
    CHECK(scene.walk.end == WalkEnd::root);
    CHECK(scene.walk.frames[0].cfa == stack_at + 64);
    SUBCASE("nothing names it") {
        scene.rules.one_frame.clear();
        CHECK(scene.go().end == WalkEnd::no_unwind_info);
        CHECK(scene.walk.frames.size() == 1);
    }
    SUBCASE("a part of itself that it called is not in its tables") {
        scene.rules.rules[0x1000] = interpreter;
        scene.words[3] = 0x5000;  // no code: where the tables have the return address
        CHECK(addresses(scene.go()) == Addresses{0x1000, 0x2000, 0x9000});
        CHECK(scene.walk.end == WalkEnd::root);
    }
}

TEST_CASE("frame records in code made at run time are accepted if they lead out of it") {
    Scene scene;
    scene.rules.add(0x1000, RuleKind::no_cfi).keeps_records = true;
    scene.rules.add(0x2000, RuleKind::no_cfi);  // an interpreter: no record is set up near it, no call is before 0x2001
    UnwindRule& native = scene.rules.add(0x3000, RuleKind::step);
    native.cfa_offset = 8;
    scene.cursor.fp = stack_at + 8;
    scene.words.resize(1000);  // more than are searched
    scene.words[1] = stack_at + 5 * 8;
    scene.words[2] = 0x2001;
    scene.words[5] = stack_at + 50 * 8;
    scene.words[6] = 0x2801;
    scene.rules.add(0x2800, RuleKind::no_cfi).keeps_records = true;  // the stub through which it is entered
    scene.words[50] = stack_at + 90 * 8;
    scene.words[51] = 0x3001;
    scene.words[52] = 0x9001;
    scene.rules.calls = {0x3001, 0x9001};
    SUBCASE("they do") {
        CHECK(addresses(scene.go()) == Addresses{0x1000, 0x2000, 0x2800, 0x3000, 0x9000});
        CHECK(scene.walk.end == WalkEnd::root);
    }
    SUBCASE("a record of code with tables may be that of the caller") {
        scene.words[6] = 0x3001;
        scene.words[7] = 0x9001;
        scene.words[4] = 0x2801;  // for here is another return address
        CHECK(addresses(scene.go()) == Addresses{0x1000, 0x2000});
        CHECK(scene.walk.end == WalkEnd::no_unwind_info);
        scene.words[4] = 0x9001;
        CHECK(addresses(scene.go()) == Addresses{0x1000, 0x2000});
    }
    SUBCASE("it is the frame's own if no return address lies below") {
        scene.words[6] = 0x3001;
        scene.words[7] = 0x9001;
        CHECK(addresses(scene.go()) == Addresses{0x1000, 0x2000, 0x3000, 0x9000});
        scene.rules.calls = {0x9001};  // but must return behind a call
        CHECK(addresses(scene.go()) == Addresses{0x1000});
    }
    SUBCASE("the innermost may be the interpreter, or a piece that it called") {
        scene.rules.rules[0x1000].keeps_records = false;
        CHECK(addresses(scene.go()) == Addresses{0x1000, 0x2000, 0x2800, 0x3000, 0x9000});
        scene.rules.add(0x4000, RuleKind::no_cfi);
        scene.words[0] = 0x4001;
        scene.rules.calls.insert(0x4001);
        CHECK(addresses(scene.go()) == Addresses{0x1000, 0x4000, 0x2000, 0x2800, 0x3000, 0x9000});
    }
    SUBCASE("the last returns to what is behind no call") {
        scene.rules.calls = {0x9001};
        CHECK(scene.go().end == WalkEnd::no_unwind_info);
        CHECK(addresses(scene.walk) == Addresses{0x1000});
    }
    SUBCASE("one does not rise") {
        scene.words[1] = stack_at;
        CHECK(addresses(scene.go()) == Addresses{0x1000});
    }
    SUBCASE("code of a file is returned to behind calls only") {
        scene.rules.rules[0x2000].in_file = true;
        CHECK(addresses(scene.go()) == Addresses{0x1000});
    }
}

TEST_CASE("the frame of code made at run time may go on beyond the copy") {
    Scene scene;
    UnwindRule& leaf = scene.rules.add(0x1000, RuleKind::no_cfi);
    scene.cursor.fp = stack_at + 8 * 20;
    SUBCASE("its record lies there") {
        leaf.keeps_records = true;
        CHECK(scene.go().end == WalkEnd::truncated);
    }
    SUBCASE("it has none, and nothing up to there is a return address") { CHECK(scene.go().end == WalkEnd::truncated); }
    SUBCASE("all that is searched is in the copy") {
        scene.words.resize(1000);
        CHECK(scene.go().end == WalkEnd::no_unwind_info);
    }
    CHECK(scene.walk.frames_in_copy == 1);
}

TEST_CASE("frame pointers: unaligned ones, and ones outside of the stack, are not followed") {
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

TEST_CASE("frame pointers: the last frames by CFI count only if they reach the root") {
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

TEST_CASE("code without CFI that runs in the frame of a function far above is crossed by that function's rule") {
    Scene scene;
    scene.words.resize(3000);
    scene.rules.add(0x1000, RuleKind::no_cfi).in_file = true;
    scene.rules.add(0x2000, RuleKind::step).cfa_offset = 8;
    scene.words[2100] = 0x2001;
    scene.words[2101] = 0x9001;
    scene.rules.calls = {0x2001, 0x9001};
    SUBCASE("the rule leads right behind the call") {
        scene.rules.distant = {{0x2001, 8 * 2100}};
        CHECK(addresses(scene.go()) == Addresses{0x1000, 0x2000, 0x9000});
        CHECK(scene.walk.end == WalkEnd::root);
    }
    SUBCASE("a stale return address below it") {
        scene.words[100] = 0x2001;
        scene.rules.distant = {{0x2001, 8 * 2100}};
        CHECK(scene.go().frames.at(1).cfa == stack_at + 8 * 2102);
    }
    SUBCASE("it leads elsewhere") {
        scene.rules.distant = {{0x2001, 8 * 2099}};
        CHECK(scene.go().end == WalkEnd::no_unwind_info);
    }
}

TEST_CASE("a frame record that none follows ends a stack within code made at run time, where nothing called it") {
    Scene scene;
    scene.rules.add(0x1000, RuleKind::no_cfi).keeps_records = true;
    scene.rules.add(0x2500, RuleKind::no_cfi);
    scene.rules.add(0x24ff, RuleKind::no_cfi);
    scene.cursor.fp = stack_at + 16;
    scene.words[3] = 0x2500;
    SUBCASE("it does") {
        CHECK(addresses(scene.go()) == Addresses{0x1000});
        CHECK(scene.walk.end == WalkEnd::root);
    }
    SUBCASE("a record follows") {
        scene.words[2] = stack_at + 32;
        CHECK(scene.go().end != WalkEnd::root);
    }
    SUBCASE("it was called from there") {
        scene.rules.calls = {0x2500};
        CHECK(scene.go().end != WalkEnd::root);
    }
    SUBCASE("it returns to a file's code") {
        scene.rules.rules[0x2500].in_file = true;
        CHECK(scene.go().end != WalkEnd::root);
    }
}
