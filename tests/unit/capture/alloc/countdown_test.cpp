#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>

#include "capture/alloc/state.hpp"

namespace flameprobe::alloc {
TEST_CASE("probabilities are those of libm") {
    constexpr std::uint64_t mean = 512 * 1024;
    for (const std::uint64_t size :
         {1ULL, 8ULL, 64ULL, 4096ULL, 262143ULL, 262144ULL, 262145ULL, 524288ULL, 3000000ULL, 26000000ULL, 1ULL << 40})
        CHECK(chance_of_sample(size, mean) ==
              doctest::Approx(-std::expm1(-static_cast<double>(size) / static_cast<double>(mean))).epsilon(1e-11));
    CHECK(chance_of_sample(0, mean) == 0);
}

TEST_CASE("the fewer cells are left the more samples each stands for, so that half a million find room") {
    for (const std::uint32_t room : {4u, 33u, 256u, 1090u, 2048u}) {
        CHECK(stands_for(0, room) == 1);
        CHECK(stands_for(room / 4 - 1, room) == 1);
        CHECK(stands_for(room / 4, room) == 2);
        std::uint64_t samples = 0;
        double squares = 0;
        for (std::uint32_t in_use = 0; in_use < room; ++in_use) {
            samples += stands_for(in_use, room);
            squares += static_cast<double>(stands_for(in_use, room)) * stands_for(in_use, room);
        }
        if (room > 32) CHECK(stands_for(room - 1, room) == 4096);
        if (room < 1000) continue;
        CHECK(samples > 500'000);
        CHECK(squares / static_cast<double>(samples) / static_cast<double>(samples) <
              0.08 * 0.08);  // error of a full pool
    }
}

TEST_CASE("an allocation is sampled with its probability, whatever was allocated before") {
    constexpr std::uint64_t mean = 10000;
    std::uint64_t random = 1;
    for (const std::uint64_t size : {1ULL, 16ULL, 1000ULL, 10000ULL, 30000ULL}) {
        CAPTURE(size);
        const double chance = chance_of_sample(size, mean);
        const auto calls = static_cast<std::uint64_t>(20000 / chance);
        std::uint64_t sampled = 0;
        std::int64_t left = bytes_to_next(random, mean);
        for (std::uint64_t i = 0; i < calls; ++i) {
            left -= static_cast<std::int64_t>(size);
            if (left > 0) continue;
            ++sampled;
            left = bytes_to_next(random, mean);
        }
        const double expected = static_cast<double>(calls) * chance,
                     error = std::sqrt(static_cast<double>(calls) * chance * (1 - chance));
        CHECK(std::abs(static_cast<double>(sampled) - expected) < 4 * error);
    }
}

TEST_CASE("a countdown is at least one byte, and has an end for every mean") {
    std::uint64_t random = 7;
    for (int i = 0; i < 1000; ++i) {
        CHECK(bytes_to_next(random, 1) >= 1);
        CHECK(bytes_to_next(random, ~std::uint64_t{0}) > 0);
    }
}

}  // namespace flameprobe::alloc
