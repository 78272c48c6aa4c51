#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "collected.hpp"
#include "cpu_log.hpp"
#include "known_shares.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

TEST_CASE("CPU timers see known shares, and samples x period are the thread's CPU time") {
    const Moment begin = Moment::now();
    Collected collected(&open_timer_source, {.frequency = 197, .stack_bytes = 8192});
    REQUIRE(collected.error() == "");
    const SampleCount& samples = collected.count_mine();
    // On a busy machine the thread is sampled rarely: fewer samples are enough then.
    const CpuLog log = work_until([&] {
        return samples >= (read_clock(CLOCK_THREAD_CPUTIME_ID) < begin.cpu_ns + 3 * ns_per_second ? 300 : 100);
    });
    const Seen& seen = collected.finish();

    check_shares(seen, my_tid(), 90);
    check_covered(seen, collected.facts(), my_tid(), begin, log);
    // Of room for half a second on every CPU, one thread uses some cells only.
    CHECK(collected.facts().buffer_bytes > 0);
    CHECK(collected.facts().buffer_bytes < 64 * CaptureOptions().stack_bytes);
    CHECK(seen.lost_ns == 0);
    CHECK(seen.mapped_late == 0);
    CHECK(seen.started.at(my_tid()) == 1);
    CHECK(seen.names.contains(my_tid()));
    // TSan blocks signals for moments of its own.
    std::uint64_t unsampled = 0;
    for (const auto& [tid, ns] : seen.unsampled_ns) unsampled += ns;
    CHECK(unsampled < log.used_ns() / 100);
    for (const auto& sample : seen.samples) {
        if (sample.tid == my_tid()) CHECK(sample.stack.size() >= 64);
    }
}

TEST_CASE("at any frequency the buffer lasts for a tenth of a second, and the period is at most 2.5 % shorter") {
    for (const std::uint64_t frequency : {1, 99, 999, 20'000}) {
        const auto source = open_timer_source({.frequency = frequency});
        REQUIRE(source);
        CAPTURE(frequency);
        CHECK((*source)->facts().fill_ns >= 100'000'000);
        CHECK((*source)->facts().period_ns >= 975'000'000 / frequency);
        CHECK((*source)->facts().period_ns <= 985'000'000 / frequency + 1);
    }
}
