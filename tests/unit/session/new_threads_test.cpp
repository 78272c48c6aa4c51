#include "session/new_threads.hpp"

#include <doctest/doctest.h>
#include <sys/prctl.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace flameprobe;

namespace {

/// The threads that wait, of `born`, when 100 have ended that had used `usual_ns`. They wait in vain.
struct Met {
    std::uint64_t number = 0, stand_for = 0;
    std::uint32_t reach_us = 0;
};
Met meet(std::uint64_t usual_ns, std::uint64_t period_ns, std::uint32_t born) {
    NewThreads threads;
    threads.want(true, period_ns);
    for (int ended = 0; ended < 100; ++ended) threads.lived(usual_ns);
    Met met;
    for (std::uint32_t tid = 1; tid <= born; ++tid) {
        const auto share = threads.choose(threads.draw(tid));
        if (!share) continue;
        ++met.number;
        met.stand_for += share->stands_for;
        met.reach_us = share->reach_us;
    }
    return met;
}

}  // namespace

TEST_CASE("threads that live long are all met") {
    const Met met = meet(8'000'000, 10'000'000, 100);
    CHECK(met.number == 100);
    CHECK(met.stand_for == 100);
}

TEST_CASE("of brief threads those are met whose sample would come in their lives") {
    const Met met = meet(100'000, 10'000'000, 10'000);
    CHECK(met.reach_us == 101);
    CHECK(met.number == doctest::Approx(101).epsilon(0.3));
    CHECK(met.stand_for == met.number);
}

TEST_CASE("meeting threads costs a twentieth of what they use, and the ones that are met stand for all") {
    const Met met = meet(200'000, 250'000, 10'000);
    CHECK(met.reach_us == 0);
    CHECK(met.number * 100'000 <= 10'000 * 200'000 / 20 * 1.2);
    CHECK(met.stand_for == doctest::Approx(10'000).epsilon(0.1));
}

TEST_CASE("lives as long as most of a period are sampled within their length") {
    const Met met = meet(300'000, 1'000'000, 10'000);
    CHECK(met.reach_us == 301);
    CHECK(met.stand_for == doctest::Approx(10'000 * 0.3).epsilon(0.3));
}

TEST_CASE("threads that wait after one that waited in vain have little patience, until the collector is back") {
    NewThreads threads;
    CommandQueue collector;
    threads.want(true, 10'000'000);
    const std::uint64_t patience_ns = threads.patience_ns();
    threads.announce(1, collector);
    CHECK(threads.patience_ns() < patience_ns / 10);
    std::vector<std::uint32_t> met;
    std::string name;
    threads.meet([&](const NewThread& thread) {
        met.push_back(thread.tid);
        name = thread.name;
    });
    CHECK(met == std::vector<std::uint32_t>{1});
    CHECK(name.empty());  // it goes on, and may take another
    CHECK(threads.patience_ns() == patience_ns);
}

TEST_CASE("a thread that waits has the name that it has then") {
    NewThreads threads;
    CommandQueue collector;
    threads.want(true, 10'000'000);
    std::thread waiting([&] {
        ::prctl(PR_SET_NAME, "waiting");
        threads.announce(7, collector);
    });
    std::string name;
    for (bool met = false; !met;)
        threads.meet([&](const NewThread& thread) {
            met = true;
            name = thread.name;
        });
    waiting.join();
    CHECK((name == "waiting" || name.empty()));  // on a machine that is busy enough it does not wait any more
}

TEST_CASE("those that wait are chosen by what is known when they are met") {
    NewThreads threads;
    CommandQueue collector;
    threads.want(true, 10'000'000);
    std::vector<std::thread> waiting;
    std::atomic<int> began{0};
    for (std::uint32_t tid = 1; tid <= 40; ++tid)
        waiting.emplace_back([&threads, &collector, &began, tid] {
            ++began;
            threads.announce(tid, collector);
        });
    for (auto& thread : waiting) thread.join();
    for (int ended = 0; ended < 100; ++ended) threads.lived(10'000);
    std::size_t met = 0;
    threads.meet([&](const NewThread& thread) {
        ++met;
        CHECK(thread.share.reach_us == 11);
    });
    CHECK(began == 40);
    CHECK(met < 5);
}

TEST_CASE("few lives that end by chance are longer than the reach") {
    NewThreads threads;
    threads.want(true, 10'000'000);
    std::mt19937_64 random(1);
    std::exponential_distribution<double> life(1e-5);
    int longer = 0, all = 0;
    for (std::uint32_t tid = 1; tid <= 20'000; ++tid) {
        const auto ns = static_cast<std::uint64_t>(life(random));
        if (const auto share = threads.choose(threads.draw(tid)); share && share->reach_us != 0) {
            ++all;
            longer += ns > share->reach_ns() ? 1 : 0;
        }
        threads.lived(ns);
    }
    REQUIRE(all > 200);
    CHECK(longer < all / 20);
}

TEST_CASE("an event that has no reach is for all lives") { CHECK(meet(100'000, 0, 10'000).reach_us == 0); }
