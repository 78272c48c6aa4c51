#include "capture/kernel_share.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace flameprobe;

namespace {

constexpr std::uint64_t millisecond = 1'000'000;
constexpr std::uint32_t one_thread = 7;
constexpr std::uint64_t read_pc = 0x1000, write_pc = 0x2000;

/// Simulates a thread period by period: perf's sample of a period and the timer's are drawn independently.
struct SimulatedThread {
    double in_read = 0, in_write = 0, in_faults = 0;  // shares of the CPU time; the rest is user code
    double held_back = 0;  // share of the user code that looks as if it came right after read()

    struct Totals {
        double user = 0, read = 0, write = 0;
        double all() const { return user + read + write; }
    };
    Totals run(unsigned periods, unsigned tick_periods, KernelShare& share) const {
        std::mt19937 random(1);
        std::uniform_real_distribution<> uniform(0, 1);
        Totals totals;
        for (unsigned i = 0; i < periods; ++i) {
            if (const double at = uniform(random); at >= in_read + in_write + in_faults) {
                const bool after_read = uniform(random) < held_back;
                share.user_sample(one_thread, millisecond, after_read ? std::optional(read_pc) : std::nullopt);
                totals.user += 1;
            }
            std::uint64_t user_ns = 0;
            if (i % tick_periods == tick_periods - 1) {
                const double at = uniform(random);
                const bool user = at >= in_read + in_write;
                const bool looks_like_read =
                    at < in_read || (user && at >= in_read + in_write + in_faults && uniform(random) < held_back);
                if (looks_like_read) {
                    totals.read += share.weigh(one_thread, tick_periods * millisecond, read_pc) / 1e6;
                } else if (!user) {
                    totals.write += share.weigh(one_thread, tick_periods * millisecond, write_pc) / 1e6;
                } else {
                    user_ns = tick_periods * millisecond;
                }
            }
            share.used(one_thread, millisecond, user_ns);
        }
        return totals;
    }
};

/// The time in system calls that no sample stands for: what a sample of `expired` gets beyond seven eighths of that is
/// an eighth of it.
double due_ns(KernelShare& share) {
    constexpr std::uint64_t expired = 10'000 * millisecond;
    return (static_cast<double>(share.weigh(one_thread, expired, 0)) - 0.875 * expired) / 0.125;
}

bool near(double got, double expected, double deviations, double tick_periods, double periods) {
    const double p = expected / periods;
    return std::abs(got - expected) < deviations * std::sqrt(2 * tick_periods * periods * p * (1 - p)) + 1;
}

}  // namespace

TEST_CASE("samples in system calls and in user code add up to the clock, and each call gets its share") {
    for (const unsigned tick : {1u, 4u}) {
        for (const double in_read : {0.02, 0.3, 0.7}) {
            KernelShare share(millisecond, tick);
            constexpr unsigned periods = 20'000;
            const auto totals = SimulatedThread{.in_read = in_read, .in_write = 0.2}.run(periods, tick, share);
            CAPTURE(tick);
            CAPTURE(in_read);
            CHECK(std::abs(totals.all() + due_ns(share) / 1e6 - periods) < periods / 200);
            CHECK(near(totals.read, in_read * periods, 5, tick, periods));
            CHECK(near(totals.write, 0.2 * periods, 5, tick, periods));
        }
    }
}

TEST_CASE("time in page faults is not attributed to system calls") {
    KernelShare share(millisecond, 1);
    constexpr unsigned periods = 20'000;
    const auto totals = SimulatedThread{.in_read = 0.05, .in_write = 0.05, .in_faults = 0.4}.run(periods, 1, share);
    CHECK(near(totals.read, 0.05 * periods, 10, 1, periods));
    CHECK(totals.all() < 0.65 * periods);
}

TEST_CASE("a sample whose interrupt was held back until the call had returned counts as user code") {
    KernelShare share(millisecond, 1);
    constexpr unsigned periods = 20'000;
    const auto totals = SimulatedThread{.in_read = 0.1, .in_write = 0.3, .held_back = 0.5}.run(periods, 1, share);
    CHECK(near(totals.read, 0.1 * periods, 8, 1, periods));
    CHECK(near(totals.write, 0.3 * periods, 8, 1, periods));
}

TEST_CASE("time in which the signal was blocked is not attributed to what comes after it") {
    KernelShare share(millisecond, 1);
    share.used(one_thread, millisecond, 0);
    CHECK(share.weigh(one_thread, millisecond, read_pc) == millisecond);
    share.unsampled(one_thread);
    share.used(one_thread, 1000 * millisecond, 0);
    std::uint64_t weight = 0;
    for (int i = 0; i < 10; ++i) {
        share.used(one_thread, millisecond, 0);
        weight += share.weigh(one_thread, millisecond, read_pc);
    }
    CHECK(weight <= 12 * millisecond);
    CHECK(due_ns(share) <= 2.0 * millisecond);
}

TEST_CASE("samples that perf lost are not attributed to system calls too") {
    KernelShare share(millisecond, 1);
    share.lost(800 * millisecond);
    share.used(one_thread, 1000 * millisecond, 0);
    CHECK(due_ns(share) == 200.0 * millisecond);
}

TEST_CASE("a thread that ended leaves nothing to the next one with its tid") {
    KernelShare share(millisecond, 1);
    share.used(one_thread, 100 * millisecond, 0);
    share.forget(one_thread);
    CHECK(due_ns(share) == 0);
}

TEST_CASE("a thread with a period of its own has the user time of its samples") {
    for (const std::uint64_t own : {millisecond / 2, millisecond * 3 / 2}) {
        KernelShare share(millisecond, 1);
        for (int i = 0; i < 100; ++i) share.user_sample(one_thread, own, {});
        share.used(one_thread, 100 * own + 10 * millisecond, 0);
        CHECK(due_ns(share) == 10.0 * millisecond);
    }
}
