#include "session/new_threads.hpp"

#include <doctest/doctest.h>

using namespace flameprobe;

namespace {

/// The threads that wait, of `born`, when 100 have ended that had used `usual_ns`. They wait in vain.
struct Met {
    std::uint64_t number = 0, stand_for = 0;
    std::uint32_t reach_us = 0;
};
Met meet(std::uint64_t usual_ns, std::uint64_t period_ns, std::uint32_t born) {
    NewThreads threads;
    CommandQueue collector;
    threads.want(true, period_ns);
    for (int ended = 0; ended < 100; ++ended) threads.lived(usual_ns);
    Met met;
    for (std::uint32_t tid = 1; tid <= born; ++tid) {
        const auto share = threads.draw(tid);
        if (!share) continue;
        ++met.number;
        met.stand_for += share->stands_for;
        met.reach_us = share->reach_us;
    }
    return met;
}

}  // namespace

TEST_CASE("threads that live long are all met") {
    const Met met = meet(3'000'000, 10'000'000, 100);
    CHECK(met.number == 100);
    CHECK(met.stand_for == 100);
}

TEST_CASE("of brief threads those are met whose sample would come in their lives") {
    const Met met = meet(100'000, 10'000'000, 10'000);
    CHECK(met.reach_us == 400);
    CHECK(met.number == doctest::Approx(400).epsilon(0.2));
    CHECK(met.stand_for == met.number);
}

TEST_CASE("meeting threads costs a twentieth of what they use, and the ones that are met stand for all") {
    const Met met = meet(200'000, 500'000, 10'000);
    CHECK(met.reach_us == 0);
    CHECK(met.number * 50'000 <= 10'000 * 200'000 / 20 * 1.2);
    CHECK(met.stand_for == doctest::Approx(10'000).epsilon(0.1));
}

TEST_CASE("an event that has no reach is for all lives") { CHECK(meet(100'000, 0, 10'000).reach_us == 0); }
