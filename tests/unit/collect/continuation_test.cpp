#include "collect/continuation.hpp"

#include <doctest/doctest.h>

#include <string>

#include "deep_stacks.hpp"

using namespace flameprobe;

namespace {

struct ToldStack {
    std::size_t frames;
    bool whole;
    std::uint64_t time;
    bool operator==(const ToldStack&) const = default;
};

struct Fixture {
    std::vector<ToldStack> told;
    Continuations continuations{[this](const DeepSample& deep, bool whole) {
        told.push_back({whole ? deep.frames.size() : deep.proven, whole, deep.time_ns});
    }};

    /// A sample of a stack whose copy holds `proven` frames. Live memory, read at `read_ns`, gives the whole stack; 0:
    /// it was not read.
    bool sample(const std::string& calls, std::size_t proven, std::uint64_t time_ns, std::uint64_t read_ns = 0,
                std::uint64_t top = stack_top) {
        Walk walk;
        walk.frames = first(stack(calls, 512, top), proven);
        walk.frames_in_copy = proven;
        const bool extended = continuations.extend(deep_thread, walk);
        if (extended) CHECK(walk.frames.size() == calls.size());
        DeepSample deep;
        deep.sample.thread = deep_thread;
        deep.time_ns = deep.came_ns = time_ns;
        deep.proven = proven;
        bool went_on = false;
        if (!extended && read_ns != 0) {
            deep.read_ns = read_ns;
            walk.frames = stack(calls, 512, top);
            went_on = continuations.agrees_with_last(deep_thread, walk);
        }
        deep.frames = walk.frames;
        continuations.add(std::move(deep), extended || went_on);
        return extended;
    }
};

const std::string usual_path = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
const std::string other_root = "abcdeXghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
const std::string other_middle = "abcdefghijklmnopqrstuvwxyzabcXefghijklmnopqrstuvwxyz";

}  // namespace

TEST_CASE("continue: the frames beyond the copy are those of a whole stack that shares the copy's outermost ones") {
    auto frames = first(stack(usual_path), 30);
    REQUIRE(continue_like(frames, 30, stack(usual_path)));
    CHECK(frames.size() == usual_path.size());
    for (std::size_t at = 0; at < frames.size(); ++at) {
        CHECK(frames[at].address == stack(usual_path)[at].address);
        CHECK(frames[at].cfa == stack(usual_path)[at].cfa);
    }
}

TEST_CASE("continue: not by a stack with another return address, with other CFAs, or that shares too little") {
    auto frames = first(stack(usual_path), 30);
    // It differs in the eighth of the copy's frames, counted from the outermost; sixteen must agree.
    CHECK_FALSE(continue_like(frames, 30, stack(other_middle)));
    auto moved = stack(usual_path);
    for (auto& frame : moved) frame.cfa += 16;
    CHECK_FALSE(continue_like(frames, 30, moved));
    CHECK_FALSE(continue_like(frames, 30, stack(usual_path.substr(0, 30))));  // shares eight frames with the copy
    CHECK_FALSE(continue_like(frames, 30, {}));
    CHECK(frames.size() == 30);
}

TEST_CASE("continue: few frames are enough where they are large") {
    auto large = first(stack(usual_path, 8192), 7), small = first(stack(usual_path, 512), 7);
    CHECK(continue_like(large, 7, stack(usual_path, 8192)));
    CHECK_FALSE(continue_like(small, 7, stack(usual_path, 512)));
}

TEST_CASE("continue: a recursion does not tell who called it") {
    const auto one = "ab" + std::string(40, 'r') + "xyz", other = "ac" + std::string(40, 'r') + "xyz";
    auto frames = first(stack(one), 30);
    CHECK_FALSE(continue_like(frames, 30, stack(one)));
    SUBCASE("nor two stacks that agree, before it and after it") {
        Fixture f;
        f.sample(one, 30, 10);
        f.continuations.saw_whole(deep_thread, stack(one.substr(0, 41)), 20);
        f.sample(other, 30, 100);
        f.told.clear();
        f.continuations.saw_whole(deep_thread, stack(one.substr(0, 42)), 120);
        CHECK(f.told == std::vector<ToldStack>{{30, false, 100}});
    }
    SUBCASE("nor memory that agrees with the last whole stack") {
        Fixture f;
        f.sample(one, 30, 10);
        f.continuations.saw_whole(deep_thread, stack(one.substr(0, 41)), 20);
        f.told.clear();
        f.sample(one, 30, 100, 150);
        CHECK(f.told.empty());
    }
}

TEST_CASE("continue: a recursion of several functions tells as much as one round of it") {
    std::string rounds, choices;
    for (int round = 0; round < 20; ++round) rounds += "pqrst";
    auto frames = first(stack("ab" + rounds), 60);
    CHECK_FALSE(continue_like(frames, 60, stack("ab" + rounds)));
    // Where each call is one of two, half of them are not foretold.
    for (unsigned state = 1, at = 0; at < 100; ++at, state = state * 1103515245 + 12345)
        choices += "pq"[state >> 16 & 1];
    auto chosen = first(stack("ab" + choices), 60);
    CHECK(continue_like(chosen, 60, stack("ab" + choices)));
    CHECK(chosen.size() == 102);
}

TEST_CASE("continue: memory alone proves nothing, a later sample does") {
    Fixture f;
    CHECK_FALSE(f.sample(usual_path, 30, 100, 150));
    CHECK(f.told.empty());
    CHECK(f.sample(usual_path, 30, 140));  // taken before memory was read
    CHECK(f.told.empty());
    CHECK(f.sample(usual_path, 30, 160));
    CHECK(f.told == std::vector<ToldStack>{{52, true, 160}, {52, true, 140}, {52, true, 100}});
    CHECK(f.sample(usual_path, 28, 170));  // continued by the last one, without memory
    CHECK(f.told.back() == ToldStack{52, true, 170});
}

TEST_CASE("continue: a sample that is stamped with the last tick counts as later from the second drain on") {
    Fixture f;
    f.sample(usual_path, 30, 100, 150);
    f.continuations.give_up(0, 0);
    f.sample(usual_path, 30, 100);
    CHECK(f.told.empty());
    f.continuations.give_up(0, 0);
    f.sample(usual_path, 30, 100);
    CHECK(f.told.size() == 3);
}

TEST_CASE("continue: stacks of a thread that was elsewhere in between are cut") {
    Fixture f;
    f.sample(usual_path, 30, 100, 110);
    f.sample(other_middle, 30, 120, 130);
    CHECK(f.told.empty());
    f.continuations.saw_whole(deep_thread, stack(usual_path.substr(0, 10)), 140);
    CHECK(f.told == std::vector<ToldStack>{{30, false, 120}, {30, false, 100}});
}

TEST_CASE("continue: two stacks that may differ beyond their copies only are decided by the whole stack after them") {
    Fixture f;
    f.sample(usual_path, 30, 100);  // without a reading: memory had changed before
    f.sample(usual_path, 34, 110);
    CHECK(f.told.empty());
    f.continuations.saw_whole(deep_thread, stack(other_root.substr(0, 40)), 120);
    CHECK(f.told == std::vector<ToldStack>{{52, true, 110}, {52, true, 100}});
}

// 22 frames lie beyond the copy; the whole stacks reach five or six frames into it, too few for one of them alone.
TEST_CASE("continue: between two whole stacks with the same outer frames, sharing little is enough") {
    const std::string before = usual_path.substr(0, 28), after = usual_path.substr(0, 27);
    for (const auto& [last, whole] : {std::pair(after, true), std::pair(other_root.substr(0, 27), false)}) {
        Fixture f;
        f.sample(usual_path, 30, 10);
        f.continuations.saw_whole(deep_thread, stack(before), 20);
        f.sample(usual_path, 30, 100);
        f.sample(other_middle, 30, 110);
        f.told.clear();
        f.continuations.saw_whole(deep_thread, stack(last), 120);
        const std::size_t frames = whole ? 52 : 30;
        CHECK(f.told == std::vector<ToldStack>{{frames, whole, 110}, {frames, whole, 100}});
    }
}

TEST_CASE("continue: memory that agrees with the last whole stack needs no later sample") {
    for (const auto& [before, whole] : {std::pair(usual_path, true), std::pair(other_root, false)}) {
        Fixture f;
        f.sample(usual_path, 30, 10);
        f.continuations.saw_whole(deep_thread, stack(before.substr(0, 28)), 20);
        f.told.clear();
        CHECK_FALSE(f.sample(usual_path, 30, 100, 150));
        CHECK((f.told == std::vector<ToldStack>{{52, true, 100}}) == whole);
    }
}

TEST_CASE("continue: a thread that is never seen whole does not fill the memory") {
    Fixture f;
    for (std::uint64_t time = 0; time < 20'000; ++time) f.sample(time % 2 != 0 ? usual_path : other_middle, 30, time);
    CHECK(f.told.size() > 18'000);
    CHECK(f.continuations.memory() < 2'000'000);
}

TEST_CASE("continue: no sample waits for ever, and none is reported twice") {
    Fixture f;
    f.sample(usual_path, 30, 100, 110);
    f.continuations.give_up(100, 0);
    CHECK(f.told.empty());
    f.continuations.give_up(101, 0);
    CHECK(f.told == std::vector<ToldStack>{{30, false, 100}});
    f.continuations.give_up(~std::uint64_t{0}, 0);
    CHECK(f.told.size() == 1);
    CHECK_FALSE(f.sample(usual_path, 30, 200, 0));
    f.continuations.give_up(~std::uint64_t{0}, ~std::uint64_t{0});
    CHECK(f.told.size() == 2);
    CHECK(f.continuations.memory() == 0);
}

TEST_CASE("continue: a copy without a return address cannot be proven, and does not wait") {
    Fixture f;
    DeepSample deep;
    deep.sample.thread = deep_thread;
    deep.time_ns = deep.came_ns = 100;
    deep.frames = stack("a");
    deep.proven = 1;
    f.continuations.add(std::move(deep), false);
    CHECK(f.told == std::vector<ToldStack>{{1, false, 100}});
}

TEST_CASE("continue: a whole stack of another thread proves nothing") {
    Fixture f;
    f.sample(usual_path, 30, 100, 110);
    f.continuations.saw_whole(deep_thread + 1, stack(usual_path), 120);
    CHECK(f.told.empty());
}

TEST_CASE("continue: each of a thread's coroutines has a stack of its own") {
    Fixture fixture;
    constexpr std::uint64_t other_top = stack_top + 0x100'0000;
    fixture.sample(usual_path, 30, 10, 15);
    fixture.sample(other_middle, 30, 20, 25, other_top);
    CHECK(fixture.told.empty());
    CHECK(fixture.sample(usual_path, 30, 30));
    CHECK(fixture.sample(other_middle, 30, 40, 0, other_top));
    CHECK(fixture.told == std::vector<ToldStack>{{52, true, 30}, {52, true, 10}, {52, true, 40}, {52, true, 20}});
    SUBCASE("another one that is seen whole says nothing about them") {
        const std::string other_way = "abcdeXghijklmnopqrstuvwxyzabcXefghijklmnopqrstuvwxyz";
        fixture.sample(other_way, 30, 50, 55);
        fixture.continuations.saw_whole(deep_thread, stack(usual_path, 512, other_top), 60);
        CHECK(fixture.told.size() == 4);
        fixture.sample(other_way, 30, 70);
        CHECK(fixture.told.size() == 6);
        CHECK(fixture.told.back() == ToldStack{52, true, 50});
    }
}
