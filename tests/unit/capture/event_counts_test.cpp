#include "capture/event_counts.hpp"

#include <doctest/doctest.h>

using namespace flameprobe;

TEST_CASE("a sample stands for the periods that its event has counted since the one before") {
    EventCounts counts;
    CHECK(counts.periods(7, 1, 1'000, 1'000) == 1);
    CHECK(counts.periods(7, 1, 4'010, 1'000) == 3);  // the timer skipped two
    CHECK(counts.periods(7, 1, 5'000, 1'000) == 1);
}

TEST_CASE("what is no whole period goes on to the next sample, so the sum is right") {
    EventCounts counts;
    std::uint64_t sum = 0, samples = 0;
    for (std::uint64_t counted = 1'300; counted <= 13'000; counted += 1'300, ++samples)
        sum += counts.periods(7, 1, counted, 1'000);
    CHECK(samples == 10);
    CHECK(sum == 13);
}

TEST_CASE("a sample that comes early stands for one period") {
    EventCounts counts;
    CHECK(counts.periods(7, 1, 100, 1'000) == 1);
    CHECK(counts.periods(7, 1, 200, 1'000) == 1);
    CHECK(counts.periods(7, 1, 10'200, 1'000) == 9);  // what was given too early is taken back, at most a period
}

TEST_CASE("threads, events and threads with the same id one after the other are apart") {
    EventCounts counts;
    CHECK(counts.periods(7, 1, 50'000, 1'000) == 50);
    CHECK(counts.periods(8, 1, 2'000, 1'000) == 2);
    CHECK(counts.periods(7, 2, 3'000, 1'000) == 3);
    counts.forget(7);
    CHECK(counts.periods(7, 1, 2'000, 1'000) == 2);
    CHECK(counts.periods(8, 1, 3'000, 1'000) == 1);
}
