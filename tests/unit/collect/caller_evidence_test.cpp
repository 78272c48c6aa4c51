#include "collect/caller_evidence.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "deep_stacks.hpp"

using namespace flameprobe;

namespace {

// The copies hold the last 30 calls; one and the other caller are beyond.
const std::string one_caller = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const std::string other_caller = "ABCXEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::size_t copied = 30;
constexpr int enough_looks = 32, enough_turns = 8;

struct Evidence {
    std::vector<std::pair<std::uint64_t, std::size_t>> told;  // the sample's time, how many frames it has
    CallerEvidence callers{[this](const DeepSample& deep, bool whole) {
        told.emplace_back(deep.time_ns, whole ? deep.frames.size() : deep.proven);
        if (whole) CHECK(deep.frames.back().cfa == stack_top);
    }};

    static Walk walk(const std::string& calls, std::size_t in_copy = copied) {
        Walk walk;
        walk.frames = stack(calls);
        walk.frames_in_copy = in_copy;
        return walk;
    }
    void add(const std::string& calls, std::uint64_t time_ns, std::size_t in_copy = copied) {
        DeepSample deep;
        deep.sample.thread = deep_thread;
        deep.time_ns = deep.came_ns = time_ns;
        deep.frames = stack(calls);
        deep.proven = in_copy;
        callers.add(std::move(deep));
    }
    /// Live memory shows `calls` once in each of `drains`.
    void show(const std::string& calls, int drains, std::size_t in_copy = copied) {
        for (int drain = 0; drain < drains; ++drain) {
            callers.looked(deep_thread, walk(calls, in_copy), 0);
            callers.settle(0);
        }
    }
};

}  // namespace

TEST_CASE("callers: a sample waits until live memory has shown its callers in many drains") {
    Evidence evidence;
    evidence.show(one_caller, 1);
    evidence.add(one_caller, 10);
    evidence.callers.settle(0);
    CHECK(evidence.callers.wants_look(deep_thread, Evidence::walk(one_caller), 0));
    // Readings of one drain are one: the thread has hardly run in between.
    for (int reading = 0; reading < 100; ++reading) evidence.callers.looked(deep_thread, Evidence::walk(one_caller), 0);
    CHECK_FALSE(evidence.callers.wants_look(deep_thread, Evidence::walk(one_caller), 0));
    evidence.callers.settle(0);
    evidence.show(one_caller, enough_looks - 3);
    CHECK(evidence.told.empty());
    evidence.show(one_caller, 1);
    CHECK(evidence.told == std::vector<std::pair<std::uint64_t, std::size_t>>{{10, one_caller.size()}});
}

TEST_CASE("callers: once believed, a sample waits for the next reading only, which comes after a while") {
    Evidence evidence;
    evidence.show(one_caller, enough_looks);
    const Walk walk = Evidence::walk(one_caller);
    CHECK_FALSE(evidence.callers.wants_look(deep_thread, walk, 49'999'999));
    CHECK(evidence.callers.wants_look(deep_thread, walk, 50'000'000));
    evidence.add(one_caller, 10);
    CHECK(evidence.told.empty());
    SUBCASE("it shows the same callers") {
        evidence.show(one_caller, 1);
        CHECK(evidence.told.back().second == one_caller.size());
    }
    SUBCASE("it shows others") {
        evidence.show(other_caller, 1);
        CHECK(evidence.told.back().second == copied);
    }
    SUBCASE("none comes") {
        evidence.callers.settle(11);
        CHECK(evidence.told.back().second == one_caller.size());
    }
    CHECK(evidence.told.size() == 1);
}

TEST_CASE("callers: frames that were seen with two callers prove nothing any more") {
    Evidence evidence;
    evidence.show(one_caller, 5);
    for (std::uint64_t time = 1; time <= 5; ++time) evidence.add(one_caller, time);
    SUBCASE("in live memory") { evidence.show(other_caller, 1); }
    SUBCASE("in another sample") { evidence.add(other_caller, 6); }
    CHECK(evidence.told.size() >= 5);
    CHECK(evidence.callers.refutes(deep_thread, Evidence::walk(one_caller)));
    CHECK_FALSE(evidence.callers.refutes(deep_thread + 1, Evidence::walk(one_caller)));
    evidence.show(one_caller, 2 * enough_looks);
    evidence.add(one_caller, 100);
    for (const auto& [time, frames] : evidence.told) CHECK(frames == copied);
    CHECK(evidence.told.back().first == 100);
}

TEST_CASE("callers: of two, 70 and 30 % of the time, none is shown") {
    Evidence evidence;
    std::uint64_t time = 0;
    for (unsigned state = 1; time < 1000; state = state * 1103515245 + 12345) {
        const std::string& calls = (state >> 16) % 10 < 7 ? one_caller : other_caller;
        evidence.add(one_caller, ++time);
        evidence.show(calls, 1);
    }
    CHECK(evidence.told.size() == 1000);
    for (const auto& [at, frames] : evidence.told) CHECK(frames == copied);
}

TEST_CASE("callers: frames that the thread has left are believed, since it did not come back to them") {
    Evidence evidence;
    evidence.show(one_caller, 2);
    evidence.add(one_caller, 10);
    SUBCASE("for other deep ones") { evidence.show("0123456789" + std::string(40, 'r'), enough_turns); }
    SUBCASE("for a stack that the copy holds") {
        for (int drain = 0; drain < enough_turns; ++drain) {
            evidence.callers.was_elsewhere(deep_thread);
            evidence.callers.was_elsewhere(deep_thread);  // the same drain
            evidence.callers.settle(0);
            CHECK(evidence.told.empty() == (drain + 1 < enough_turns));
        }
    }
    CHECK(evidence.told == std::vector<std::pair<std::uint64_t, std::size_t>>{{10, one_caller.size()}});
}

TEST_CASE("callers: what is read shows also those of leaves that are a little deeper or less deep") {
    Evidence evidence;
    evidence.add(one_caller, 10, copied - 5);
    evidence.add(one_caller, 20, copied + 5);
    evidence.show(one_caller, enough_looks);
    CHECK(evidence.told.size() == 2);
    for (const auto& [time, frames] : evidence.told) CHECK(frames == one_caller.size());
}

TEST_CASE("callers: what waits for too long is cut") {
    Evidence evidence;
    evidence.show(one_caller, 3);
    evidence.add(one_caller, 10);
    evidence.callers.settle(10);
    CHECK(evidence.told.empty());
    evidence.callers.settle(11);
    CHECK(evidence.told == std::vector<std::pair<std::uint64_t, std::size_t>>{{10, copied}});
}

TEST_CASE("callers: a thread that is always somewhere else does not fill the memory") {
    Evidence evidence;
    for (std::uint64_t time = 1; time < 20'000; ++time) {
        std::string calls = one_caller;
        for (unsigned bit = 0; bit < 15; ++bit) calls[23 + bit] = time >> bit & 1 ? '1' : '0';
        evidence.add(calls, time);
        evidence.show(calls, 1);
    }
    CHECK(evidence.told.size() > 19'000);
    CHECK(evidence.callers.memory() < 10'000'000);
}
