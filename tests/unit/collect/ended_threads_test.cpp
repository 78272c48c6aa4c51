// Threads that report their ends, and the rounding of their CPU time to whole periods.
#include "collect/ended_threads.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "collect/unsampled_time.hpp"

using namespace flameprobe;

TEST_CASE("each ended thread is taken once, and a full buffer makes none wait") {
    EndedThreads threads;
    std::vector<EndedThread> got;
    threads.take([&](const EndedThread& thread) { got.push_back(thread); });
    CHECK(got.empty());
    for (std::uint32_t i = 0; i < EndedThreads::capacity + 5; ++i) threads.report({.tid = i, .cpu_ns = i});
    threads.take([&](const EndedThread& thread) { got.push_back(thread); });
    REQUIRE(got.size() == EndedThreads::capacity);
    CHECK(got.front().tid == 0);
    CHECK(got.back().tid == EndedThreads::capacity - 1);
    threads.report({.tid = 77});  // the ring begins anew
    got.clear();
    threads.take([&](const EndedThread& thread) { got.push_back(thread); });
    REQUIRE(got.size() == 1);
    CHECK(got.front().tid == 77);
}

TEST_CASE("threads may end at the same time, while the collector reads") {
    constexpr std::uint32_t each = 20000;
    EndedThreads threads;
    std::vector<EndedThread> got;
    std::atomic<int> writing{2};
    const auto tell = [&](std::uint32_t from) {
        for (std::uint32_t i = 0; i < each; ++i) {
            threads.report({.tid = from + i, .cpu_ns = from + i});
            if (i % 1000 == 0) std::this_thread::yield();
        }
        --writing;
    };
    std::thread first(tell, 1), second(tell, 1 + each);
    while (writing != 0) threads.take([&](const EndedThread& thread) { got.push_back(thread); });
    first.join();
    second.join();
    threads.take([&](const EndedThread& thread) { got.push_back(thread); });
    CHECK(got.size() > EndedThreads::capacity / 2);
    std::vector<std::uint32_t> tids;
    for (const auto& thread : got) {
        CHECK(thread.cpu_ns == thread.tid);
        tids.push_back(thread.tid);
    }
    std::sort(tids.begin(), tids.end());
    CHECK(std::adjacent_find(tids.begin(), tids.end()) == tids.end());
}

TEST_CASE("a part of a period counts as a whole one with a probability equal to its share, also in a regular pattern") {
    constexpr std::uint64_t period = 10'000;
    for (const std::int64_t first : {100, 2'000, 9'000}) {
        PeriodRest rest(period, static_cast<std::uint64_t>(first));
        std::uint64_t of_first = 0, all = 0;
        constexpr int rounds = 20000;
        for (int i = 0; i < rounds; ++i) {
            const std::uint64_t due = rest.add(first);
            of_first += due;
            all += due + rest.add(static_cast<std::int64_t>(period) - first);
        }
        CHECK(std::abs(static_cast<double>(all) - rounds) <= 1);
        const double share = static_cast<double>(first) / period;
        CHECK(std::abs(static_cast<double>(of_first) - rounds * share) < 5 * std::sqrt(rounds * share * (1 - share)));
    }
}

TEST_CASE("weight given in excess is subtracted from what follows") {
    PeriodRest rest(1000, 1);
    CHECK(rest.add(-5000) == 0);
    std::uint64_t due = 0;
    for (int i = 0; i < 100; ++i) due += rest.add(100);
    CHECK(due >= 4);
    CHECK(due <= 6);
}
