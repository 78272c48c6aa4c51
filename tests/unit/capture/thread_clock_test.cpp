#include "capture/thread_clock.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>

using namespace flameprobe;

namespace {

constexpr ClockRate rate{.period_ns = 1'000'000, .least_ns = 0, .user_only = false, .one_shots = true};

/// CPU time that the samples of one brief life stand for, in tenths of that life.
std::array<double, 10> sample_life(std::uint64_t life_ns, std::uint64_t seed, bool one_shots) {
    ClockRate with = rate;
    with.one_shots = one_shots;
    ThreadClock clock(with, true, seed);
    std::array<double, 10> tenths{};
    for (std::uint64_t at = clock.period_ns(); at < life_ns; at += clock.period_ns()) {
        tenths[at * 10 / life_ns] += static_cast<double>(clock.weigh(at));
        if (clock.one_shot()) break;
    }
    return tenths;
}

}  // namespace

TEST_CASE("each part of brief lives has the weight of its length, however long they are") {
    for (const std::uint64_t life_ns : {50'000u, 500'000u, 2'000'000u, 8'000'000u}) {
        constexpr std::uint64_t threads = 200'000;
        std::array<double, 10> sum{}, squares{};
        for (std::uint64_t seed = 0; seed < threads; ++seed) {
            const auto tenths = sample_life(life_ns, seed * 77, true);
            for (std::size_t i = 0; i < tenths.size(); ++i) {
                sum[i] += tenths[i];
                squares[i] += tenths[i] * tenths[i];
            }
        }
        for (std::size_t i = 0; i < sum.size(); ++i) {
            CAPTURE(life_ns);
            CAPTURE(i);
            const double mean = sum[i] / threads, true_mean = static_cast<double>(life_ns) / 10;
            const double error = std::sqrt((squares[i] / threads - mean * mean) / threads);
            CHECK(std::abs(mean - true_mean) < 5 * error);
        }
    }
}

TEST_CASE("where threads that may be sampled soon are the only ones with an event, each part has its weight too") {
    constexpr std::uint64_t reach_ns = rate.period_ns / 10, life_ns = reach_ns / 2, threads = 400'000;
    std::array<double, 2> halves{};
    for (std::uint64_t seed = 0; seed < threads; ++seed) {
        if (splitmix64(seed) % 10 != 0) continue;  // would be sampled later, if it lived on
        ThreadClock clock(rate, true, seed * 77, reach_ns);
        CHECK(clock.one_shot());
        const std::uint64_t at = clock.period_ns();
        if (at < life_ns) halves[at * 2 / life_ns] += static_cast<double>(clock.weigh(at));
    }
    for (const double half : halves) CHECK(half / threads == doctest::Approx(life_ns / 2.0).epsilon(0.06));
}

TEST_CASE("without samples that come once, no period is so short that it floods a ring") {
    ClockRate with = rate;
    with.one_shots = false;
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
        const ThreadClock clock(with, true, seed);
        CHECK_FALSE(clock.one_shot());
        CHECK(clock.period_ns() >= rate.period_ns / 4);
    }
    with.least_ns = rate.period_ns / 2;  // where the kernel would throttle
    for (std::uint64_t seed = 0; seed < 1000; ++seed)
        CHECK(ThreadClock(with, true, seed).period_ns() >= rate.period_ns / 2);
}

TEST_CASE(
    "a settled thread's samples stand for what was counted, also where the timer came late or the period changed") {
    ThreadClock clock(rate, false, 1);
    CHECK(clock.period_ns() >= rate.period_ns / 2);
    CHECK(clock.period_ns() <= rate.period_ns * 3 / 2);
    std::uint64_t sum = 0;
    for (const std::uint64_t count : {1'000'000u, 4'000'000u, 5'000'000u}) sum += clock.weigh(count);
    CHECK(sum == 5'000'000);
    CHECK_FALSE(clock.wants_draw());
    clock.draw();
    clock.drawn(5'500'000);
    sum += clock.weigh(5'200'000);  // was taken before, and drained after it
    sum += clock.weigh(6'500'000);
    CHECK(sum == 6'500'000);
}

TEST_CASE("records without room are of samples only as far as the thread has used time for these") {
    for (const bool user_only : {false, true}) {
        ClockRate with = rate;
        with.user_only = user_only;
        ThreadClock clock(with, false, 1);
        const std::uint64_t period = clock.period_ns();
        clock.weigh(period);
        CHECK(clock.take_lost_ns() == 0);
        clock.lost(3);
        std::uint64_t count = period + 5'000'000;
        const std::uint64_t weight = clock.weigh(count);
        CHECK(clock.take_lost_ns() == 3'000'000);
        CHECK(weight == (user_only ? period : 2'000'000));
        clock.lost(1000);  // births of other threads
        clock.weigh(count += period + 7);
        CHECK(clock.take_lost_ns() == 7);
        clock.weigh(count += 9 * period);  // the timer came late
        CHECK(clock.take_lost_ns() == 0);
        CHECK(clock.take_lost_until(count + 9 * period, 0) == 0);
        CHECK(clock.take_lost_until(count + period - 1, 1) == 0);
        clock.lost(2);
        CHECK(clock.take_lost_until(count += 9 * period, 3) == 3'000'000);
        CHECK(clock.take_lost_until(count, 0) == 0);
        CHECK(clock.weigh(count + period) == (user_only ? period : 10 * period - 3'000'000));
    }
}

TEST_CASE("periods are drawn anew, so that no rhythm is in step with them") {
    ThreadClock clock(rate, false, 1);
    std::uint64_t count = 0, least = ~std::uint64_t{0}, most = 0;
    for (int draws = 0; draws < 100; ++draws) {
        while (!clock.wants_draw()) clock.weigh(count += clock.period_ns());
        clock.draw();
        clock.drawn(count);
        least = std::min(least, clock.period_ns());
        most = std::max(most, clock.period_ns());
    }
    CHECK(least < rate.period_ns * 6 / 10);
    CHECK(most > rate.period_ns * 12 / 10);
}

TEST_CASE("there are as many samples as were asked for, however many fall between two drains") {
    for (const double between : {0.3, 1.0, 3.0, 10.0, 160.0}) {  // periods from one drain to the next
        for (const bool user_only : {false, true}) {
            ClockRate with = rate;
            with.user_only = user_only;
            ThreadClock clock(with, false, 7);
            const auto drain_ns = static_cast<std::uint64_t>(between * static_cast<double>(rate.period_ns));
            std::uint64_t samples = 0, due = clock.period_ns();
            for (std::uint64_t now = drain_ns; now < 40'000 * std::max(drain_ns, rate.period_ns); now += drain_ns) {
                for (; due <= now; due += clock.period_ns()) {
                    ++samples;
                    if (!user_only || samples % 3 == 0) clock.weigh(due);  // the rest are in the kernel: no samples
                }
                if (!clock.wants_draw()) continue;
                clock.draw();
                clock.drawn(now);
                due = now + clock.period_ns();
            }
            CAPTURE(between);
            CAPTURE(user_only);
            const double asked = 40'000 * std::max(between, 1.0);
            CHECK(static_cast<double>(samples) == doctest::Approx(asked).epsilon(0.01));
        }
    }
}

TEST_CASE("brief threads that live on are settled, and samples stand for as much as all of them used") {
    for (const bool user_only : {false, true}) {
        ClockRate with = rate;
        with.user_only = user_only;
        for (const std::uint64_t life_ns : {12'000'000u, 14'000'000u, 40'000'000u}) {
            constexpr std::uint64_t threads = 20'000;
            double sum = 0;
            for (std::uint64_t seed = 1; seed <= threads; ++seed) {
                ThreadClock clock(with, true, seed * 77);
                constexpr std::uint64_t look_ns = 10'000'000;
                std::uint64_t count = clock.period_ns();
                for (; count < look_ns && !clock.one_shot(); count += clock.period_ns())
                    sum += static_cast<double>(clock.weigh(count));
                if (clock.one_shot()) sum += static_cast<double>(clock.weigh(count));
                clock.draw();
                clock.drawn(look_ns);
                CHECK_FALSE(clock.brief());
                for (count = look_ns + clock.period_ns(); count < life_ns; count += clock.period_ns()) {
                    sum += static_cast<double>(clock.weigh(count));
                    if (!clock.wants_draw()) continue;
                    clock.draw();
                    clock.drawn(count);
                }
            }
            CAPTURE(user_only);
            CAPTURE(life_ns);
            CHECK(sum / threads == doctest::Approx(static_cast<double>(life_ns)).epsilon(0.01));
        }
    }
}

TEST_CASE("where the kernel may not be sampled, samples stand for the user time, with what a new period cut off") {
    ClockRate user = rate;
    user.user_only = true;
    constexpr double in_user = 0.3;
    double sampled = 0;
    std::uint64_t used = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        ThreadClock clock(user, false, seed);
        std::uint64_t count = 0, random = seed, since_draw = 0;
        for (int expiries = 0; expiries < 400; ++expiries) {
            count += clock.period_ns();
            if (static_cast<double>(splitmix64(random += 0x9e3779b97f4a7c15) % 1000) < 1000 * in_user) {
                sampled += static_cast<double>(clock.weigh(count));
                ++since_draw;
            }
            if (!clock.wants_draw()) continue;
            count += clock.period_ns() / 3;  // no expiry falls into this part of a period
            clock.draw();
            clock.drawn(count);
        }
        used += count;
    }
    CHECK(sampled / static_cast<double>(used) == doctest::Approx(in_user).epsilon(0.03));
}
