#include "capture/perf_event.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace flameprobe;

TEST_CASE("a clock's period is a little more than was asked for, and another one each time") {
    for (const std::uint64_t frequency : {1u, 99u, 999u, 1000u, 4000u, 20000u}) {
        const std::uint64_t even = 1'000'000'000 / frequency;
        std::set<std::uint64_t> periods;
        for (std::uint64_t seed = 0; seed < 100; ++seed) {
            const std::uint64_t period = uneven_period(frequency, seed * 1'234'567);
            CHECK(period >= even + even / 500);
            CHECK(period <= even + even / 100);
            periods.insert(period);
        }
        CHECK(periods.size() > 50);
    }
}
