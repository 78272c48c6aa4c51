// Every way a walk over rules can go on and every way it can end.
#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <span>

#include "hand_made_rules.hpp"

using namespace flameprobe;
using namespace flameprobe::testing;

TEST_CASE("the leaf is looked up at its pc, callers before their return address") {
    Scene scene;
    scene.rules.add(0x1000, RuleKind::step).cfa_offset = 16;
    scene.rules.add(0x2000, RuleKind::step).cfa_offset = 8;
    scene.words[1] = 0x2001;
    scene.words[2] = 0x9001;
    const Walk& walk = scene.go();
    CHECK(addresses(walk) == Addresses{0x1000, 0x2000, 0x9000});
    CHECK(walk.end == WalkEnd::root);
    CHECK(walk.frames_in_copy == 3);
    CHECK(walk.beyond_end == 0);
    CHECK(walk.frames[0].cfa == stack_at + 16);
    CHECK(walk.frames[1].cfa == stack_at + 24);
    CHECK(walk.frames[0].region == 7);
}

TEST_CASE("a CFA is worked out from rbp, from rbx, or from a word in memory") {
    Scene scene;
    SUBCASE("rbp") {
        UnwindRule& rule = scene.rules.add(0x1000, RuleKind::step);
        rule.base = RuleBase::fp;
        rule.cfa_offset = 16;
        rule.fp_slot = -16;
        scene.cursor.fp = stack_at + 8;
        scene.words[1] = stack_at + 40;
        scene.words[2] = 0x2001;
        UnwindRule& caller = scene.rules.add(0x2000, RuleKind::step);
        caller.base = RuleBase::fp;
        caller.cfa_offset = 16;
        scene.words[6] = 0x9001;
    }
    SUBCASE("rbx") {
        UnwindRule& rule = scene.rules.add(0x1000, RuleKind::step);
        rule.base = RuleBase::third;
        scene.cursor.third = stack_at + 24;
        scene.words[2] = 0x2001;
        scene.rules.add(0x2000, RuleKind::step).cfa_offset = 8;
        scene.words[3] = 0x9001;
    }
    SUBCASE("loaded") {
        UnwindRule& rule = scene.rules.add(0x1000, RuleKind::step);
        rule.cfa_offset = 8;
        rule.cfa_is_loaded = true;
        scene.words[1] = stack_at + 32;
        scene.words[3] = 0x2001;
        scene.rules.add(0x2000, RuleKind::step).cfa_offset = 16;
        scene.words[5] = 0x9001;
    }
    CHECK(addresses(scene.go()) == Addresses{0x1000, 0x2000, 0x9000});
    CHECK(scene.walk.end == WalkEnd::root);
}

TEST_CASE("a frame on another stack is the caller only where the code shows that it called on a new one") {
    Scene scene;
    scene.rules.add(0x1000, RuleKind::step).cfa_offset = 8;
    scene.words[0] = 0x2001;
    UnwindRule& switching = scene.rules.add(0x2000, RuleKind::step);
    switching.base = RuleBase::fp;
    switching.cfa_offset = 16;
    switching.fp_slot = -16;
    scene.rules.add(0x3000, RuleKind::step).cfa_offset = 16;
    struct Other final : StackBeyond {
        std::uint64_t at = 0;
        std::array<std::uint64_t, 4> words{0x77, 0x3001, 0, 0x9001};
        std::size_t read(std::uint64_t address, std::span<std::byte> out) override {
            std::uint64_t there = 0;
            for (std::size_t i = 0; i < out.size() / 8; ++i) {
                const std::uint64_t word = (address + 8 * i - at) / 8;
                there = address + 8 * i >= at && word < words.size() ? words[word] : 0;
                std::memcpy(out.data() + 8 * i, &there, 8);
            }
            return out.size() / 8 * 8;
        }
    } other;
    SUBCASE("far above") { other.at = 0x7fff'0000'0000; }
    SUBCASE("below") { other.at = stack_at - 0x8000; }
    scene.cursor.fp = other.at;
    scene.beyond = &other;
    CHECK(scene.go().end == WalkEnd::bad_cfa);
    scene.rules.new_stacks.insert(0x2001);
    CHECK(addresses(scene.go()) == Addresses{0x1000, 0x2000, 0x3000, 0x9000});
    CHECK(scene.walk.end == WalkEnd::root);
    CHECK(scene.walk.frames_in_copy == 2);
}

TEST_CASE("new stacks that lead round in a circle end the walk") {
    Scene scene;
    UnwindRule& switching = scene.rules.add(0x2000, RuleKind::step);
    switching.base = RuleBase::fp;
    switching.cfa_offset = 16;
    switching.fp_slot = -16;
    scene.rules.new_stacks.insert(0x2001);
    scene.rules.add(0x1000, RuleKind::step).cfa_offset = 8;
    scene.words[0] = 0x2001;
    scene.words[2] = scene.cursor.fp = stack_at + 16;
    scene.words[3] = 0x2001;
    scene.most = 1u << 16;
    CHECK(scene.go().end == WalkEnd::bad_cfa);
    CHECK(scene.walk.frames.size() < 5000);
}

TEST_CASE("a slot outside the frame means that the register has been restored") {
    Scene scene;
    scene.cursor.fp = stack_at + 24;  // what `pop %rbp` has just restored
    UnwindRule& leaf = scene.rules.add(0x1000, RuleKind::step);
    leaf.cfa_offset = 8;
    SUBCASE("below SP: an epilogue") { leaf.fp_slot = -16; }
    SUBCASE("above the CFA: gcc's rule for realigned frames after leave") {
        leaf.fp_origin = SlotOrigin::fp;
        leaf.fp_slot = 0;
    }
    scene.words[0] = 0x2001;
    scene.words[3] = 0xdead;
    UnwindRule& caller = scene.rules.add(0x2000, RuleKind::step);
    caller.base = RuleBase::fp;
    caller.cfa_offset = 16;
    scene.words[4] = 0x9001;
    CHECK(addresses(scene.go()) == Addresses{0x1000, 0x2000, 0x9000});
    CHECK(scene.walk.end == WalkEnd::root);
}

TEST_CASE("a signal frame gives the interrupted pc itself, wherever its stack is") {
    Scene scene;
    scene.rules.add(0x1000, RuleKind::step).cfa_offset = 8;
    scene.words[0] = 0x3001;
    UnwindRule& signal = scene.rules.add(0x3000, RuleKind::step);
    signal.signal_frame = true;
    signal.cfa_is_loaded = true;
    signal.cfa_offset = 16;
    signal.ra_origin = signal.fp_origin = SlotOrigin::sp;
    signal.ra_slot = 8;
    signal.fp_slot = 24;
    scene.words[2] = 0x5000;
    scene.words[3] = stack_at;  // the interrupted SP: lower than the handler's, as on an alternate stack
    scene.words[4] = 0x77;
    scene.rules.add(0x5000, RuleKind::step).cfa_offset = 64;
    scene.words[7] = 0x9001;
    CHECK(addresses(scene.go()) == Addresses{0x1000, 0x3000, 0x5000, 0x9000});
    CHECK(scene.walk.end == WalkEnd::root);
}

TEST_CASE("a thread in the kernel is looked up before its pc, which is behind the syscall instruction") {
    Scene scene;
    scene.rules.add(0x1000, RuleKind::no_cfi).after_syscall = true;
    scene.rules.add(0xfff, RuleKind::step).cfa_offset = 8;
    scene.words[0] = 0x9001;
    CHECK(addresses(scene.go()) == Addresses{0xfff, 0x9000});
}

TEST_CASE("expressions lead over frames that no unwind rule describes") {
    Scene scene;
    scene.rules.add(0x1000, RuleKind::irregular);
    CHECK(addresses(scene.go()) == Addresses{0x1000, 0x9000});
    CHECK(scene.walk.frames[0].cfa == stack_at + 16);
}

TEST_CASE("how a walk ends early") {
    Scene scene;
    UnwindRule& leaf = scene.rules.add(0x1000, RuleKind::step);
    leaf.cfa_offset = 8;
    scene.words[0] = 0x2001;
    UnwindRule& caller = scene.rules.add(0x2000, RuleKind::step);
    SUBCASE("the copy ends") {
        caller.cfa_offset = 4096;
        CHECK(scene.go().end == WalkEnd::truncated);
        CHECK(scene.walk.frames.size() == 2);
    }
    SUBCASE("the CFA stays") {
        caller.cfa_offset = 0;
        CHECK(scene.go().end == WalkEnd::bad_cfa);
    }
    SUBCASE("the CFA goes back") {
        caller.cfa_offset = -8;
        CHECK(scene.go().end == WalkEnd::bad_cfa);
    }
    SUBCASE("the return address is zero, but a caller lies above") {
        caller.cfa_offset = 8;
        scene.words[5] = 0x9001;
        scene.rules.calls = {0x9001};
        CHECK(scene.go().end == WalkEnd::bad_return);
        CHECK(scene.walk.frames.size() == 2);
    }
    SUBCASE("the return address is no code") {
        caller.cfa_offset = 8;
        scene.words[1] = 0x4444;
        CHECK(scene.go().end == WalkEnd::bad_return);
    }
    SUBCASE("too deep") {
        scene.most = 2;
        caller.cfa_offset = 8;
        scene.words[1] = 0x9001;
        CHECK(scene.go().end == WalkEnd::too_deep);
        CHECK(scene.walk.frames.size() == 2);
    }
    SUBCASE("the leaf is no code") {
        scene.cursor.pc = 0x6666;
        CHECK(scene.go().end == WalkEnd::no_unwind_info);
        CHECK(scene.walk.frames.size() == 1);
        CHECK(scene.walk.frames[0].region == CodeFrame::no_region);
    }
}

namespace {

class MoreWords final : public StackBeyond {
public:
    std::map<std::uint64_t, std::uint64_t> words;
    std::uint64_t end = 0;
    std::size_t reads = 0;
    std::size_t read(std::uint64_t address, std::span<std::byte> out) override {
        ++reads;
        const std::size_t size = address < end ? std::min<std::size_t>(out.size(), end - address) : 0;
        std::fill(out.begin(), out.end(), std::byte{0});
        for (const auto& [at, word] : words)
            if (at >= address && at + 8 <= address + size) std::memcpy(out.data() + (at - address), &word, 8);
        return size;
    }
};

}  // namespace

TEST_CASE("past the end of the copy the walk goes on in live memory, lazily") {
    Scene scene;
    MoreWords more;
    scene.beyond = &more;
    more.end = stack_at + (1u << 20);
    scene.rules.add(0x1000, RuleKind::step).cfa_offset = 8;
    scene.words[0] = 0x2001;
    scene.rules.add(0x2000, RuleKind::step).cfa_offset = 512;
    more.words[stack_at + 8 + 504] = 0x2001;
    more.words[stack_at + 8 + 1016] = 0x9001;
    const Walk& walk = scene.go();
    CHECK(addresses(walk) == Addresses{0x1000, 0x2000, 0x2000, 0x9000});
    CHECK(walk.end == WalkEnd::root);
    CHECK(walk.frames_in_copy == 2);
    CHECK(walk.beyond_end == stack_at + 8 + 1024);
    CHECK(more.reads == 1);
}

TEST_CASE("live memory that ends truncates the walk") {
    Scene scene;
    MoreWords more;
    scene.beyond = &more;
    more.end = stack_at + 256;
    scene.rules.add(0x1000, RuleKind::step).cfa_offset = 1024;
    CHECK(scene.go().end == WalkEnd::truncated);
    CHECK(scene.walk.beyond_end == 0);
    CHECK(scene.walk.frames_in_copy == 1);
}

TEST_CASE("a walk of equal frames ends with the stack") {
    Scene scene;
    scene.rules.add(0x1000, RuleKind::step).cfa_offset = 8;
    scene.rules.add(0x2000, RuleKind::step).cfa_offset = 8;
    for (auto& word : scene.words) word = 0x2001;
    CHECK(scene.go().end == WalkEnd::truncated);
    CHECK(scene.walk.frames.size() == scene.words.size() + 1);
}

TEST_CASE("a coroutine's stack ends with the function that nothing called") {
    Scene scene;
    scene.words.resize(1000);  // more than are searched
    scene.rules.add(0x1000, RuleKind::step).cfa_offset = 16;
    scene.words[1] = 0x3001;
    scene.rules.add(0x3000, RuleKind::step).cfa_offset = 8;
    scene.words[2] = 0x9001;
    const auto ends = [&](WalkEnd end) {
        CHECK(addresses(scene.go()) == Addresses{0x1000});
        CHECK(scene.walk.end == end);
    };
    const auto goes_on = [&] {
        CHECK(addresses(scene.go()) == Addresses{0x1000, 0x3000, 0x9000});
        CHECK(scene.walk.end == WalkEnd::root);
    };
    SUBCASE("known code") {
        scene.rules.rules[0x3000].starts_stack = StackStart::by_bytes;
        ends(WalkEnd::root);
        scene.rules.rules[0x1000].kind = RuleKind::no_cfi;  // also above code without tables
        scene.rules.rules[0x1000].keeps_records = true;
        scene.cursor.fp = stack_at;
        ends(WalkEnd::root);
    }
    SUBCASE("a function begins there") {
        scene.rules.rules[0x3000].starts_stack = StackStart::by_tables;
        ends(WalkEnd::root);
        scene.rules.rules[0x1000].kind = RuleKind::no_cfi;
        scene.rules.rules[0x1000].keeps_records = true;
        scene.cursor.fp = stack_at;
        ends(WalkEnd::no_unwind_info);  // it may be any pointer to a function
    }
    SUBCASE("a function begins there, behind a call that never returns") {
        scene.rules.rules[0x3000].starts_stack = StackStart::by_tables;
        scene.rules.calls = {0x3001};
        goes_on();
    }
    SUBCASE("returns are redirected there") {
        scene.rules.rules[0x3000].starts_stack = StackStart::by_tables;
        scene.words[9] = 0x3001;
        goes_on();
    }
    SUBCASE("zero") {
        scene.words[1] = 0;
        ends(WalkEnd::root);
    }
    SUBCASE("minicoro's placeholder") {
        scene.words[1] = 0xdeaddeaddeaddead;
        ends(WalkEnd::root);
    }
    SUBCASE("a call through a null pointer is no start") {
        scene.cursor.pc = 0;
        CHECK(scene.go().end == WalkEnd::no_unwind_info);
        CHECK(scene.walk.frames.size() == 1);
    }
    SUBCASE("what is not code proves nothing") {
        scene.words[1] = 0x5001;
        ends(WalkEnd::bad_return);
    }
    SUBCASE("zero above code without tables proves nothing") {
        scene.rules.rules[0x1000].kind = RuleKind::no_cfi;
        scene.rules.rules[0x1000].keeps_records = true;
        scene.cursor.fp = stack_at;
        scene.words[0] = stack_at + 64;
        scene.words[1] = 0;
        ends(WalkEnd::bad_return);
    }
}
