#include "capture/handler/tick_weight.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace flameprobe;

namespace {

constexpr std::uint64_t tick_ns = 4'000'000;

/// Of what ticks stood for that hit many lives: the part before 0.3 of each life, and all, of the CPU time used.
struct SeenOfLives {
    double early = 0, all = 0;
};

/// Ticks hit a thread as often as it has a CPU: one that sleeps much at random moments of its CPU time, a busy one
/// regularly.
SeenOfLives of_lives(std::uint64_t period_ns, std::uint64_t life_ns, bool sleeper, int lives) {
    std::mt19937_64 random(period_ns ^ life_ns);
    std::uniform_real_distribution<double> uniform(0, 1);
    SeenOfLives seen;
    std::uint64_t weighed = 0;
    for (int life = 0; life < lives; ++life) {
        handler::TickWeight weight;
        const auto next = [&] { return static_cast<double>(tick_ns) * (sleeper ? -std::log(1 - uniform(random)) : 1); };
        double last = 0, at = sleeper ? next() : static_cast<double>(tick_ns) * uniform(random);
        for (; at < static_cast<double>(life_ns); last = at, at += next()) {
            const std::uint64_t ns = weight.nanoseconds(static_cast<std::uint64_t>(at - last), tick_ns);
            const auto periods = static_cast<double>(handler::periods_due(weighed, weighed + ns, period_ns, life_ns));
            weighed += ns;
            seen.all += periods;
            if (at < 0.3 * static_cast<double>(life_ns)) seen.early += periods;
        }
    }
    seen.early /= seen.all;
    seen.all *= static_cast<double>(period_ns) / static_cast<double>(life_ns) / lives;
    return seen;
}

}  // namespace

TEST_CASE("what threads do first is seen as often as what they do last, however briefly they live") {
    for (const std::uint64_t period_ns : {10'100'000u, 1'003'000u})
        for (const std::uint64_t life_ns : {500'000u, 2'000'000u, 14'000'000u, 100'000'000u})
            for (const bool sleeper : {true, false}) {
                CAPTURE(period_ns);
                CAPTURE(life_ns);
                CAPTURE(sleeper);
                const SeenOfLives seen = of_lives(period_ns, life_ns, sleeper, 100'000);
                CHECK(seen.early == doctest::Approx(0.3).epsilon(0.05));
                CHECK(seen.all == doctest::Approx(1).epsilon(0.05));
            }
}

TEST_CASE("ticks that come late weigh more until most of the clock is made up for") {
    handler::TickWeight weight;
    std::uint64_t weighed = weight.nanoseconds(100 * tick_ns, tick_ns);
    CHECK(weighed < 30 * tick_ns);
    for (int i = 0; i < 60; ++i) weighed += weight.nanoseconds(tick_ns, tick_ns);
    CHECK(weighed > 144 * tick_ns);
    CHECK(weighed < 160 * tick_ns);
}

TEST_CASE("each period falls due once, in whatever pieces it is asked for") {
    constexpr std::uint64_t period = 1000;
    for (const std::uint64_t piece : {7u, 999u, 1000u, 12345u}) {
        std::uint64_t due = 0, end = 0;
        for (; end < 1'000'000; end += piece) due += handler::periods_due(end, end + piece, period, 5);
        CHECK(due >= end / period);
        CHECK(due <= end / period + 1);
    }
}
