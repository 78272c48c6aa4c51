// Threads that report their ends.
#include <doctest/doctest.h>

#include <algorithm>
#include <thread>

#include "collect/ledger.hpp"

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
