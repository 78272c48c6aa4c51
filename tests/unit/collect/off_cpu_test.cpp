#include "collect/off_cpu.hpp"

#include "kept.hpp"

using namespace flameprobe;

namespace {

constexpr std::uint64_t second = 1'000'000'000;

/// One second of switch records, from `begin_ns` on, of a thread that leaves its CPU and gets it back `a_second` times.
void switch_for_a_second(OffCpu& off_cpu, std::uint64_t begin_ns, std::uint64_t a_second) {
    constexpr std::uint32_t tid = 0x7ffffff0;  // no thread has it
    const std::uint64_t pause = second / a_second, settle_every = second / 20;
    for (std::uint64_t at = 0, settled = 0; at + pause <= second; at += pause) {
        off_cpu.take(ThreadSwitched{begin_ns + at, tid, true, false});
        off_cpu.take(ThreadSwitched{begin_ns + at + pause / 2, tid, false, false});
        if (at < settled + settle_every) continue;
        settled = at;
        off_cpu.settle(begin_ns + at);
    }
}

std::uint64_t records(const OffCpu& off_cpu) {
    Counters counters;
    off_cpu.add_to(counters);
    return counters["off-CPU: switch records"];
}

}  // namespace

TEST_CASE("above 50,000 switches a second records are given up, and those that still come are not counted") {
    Kept kept;
    Pipeline pipeline(kept, false, 0, 1000, static_cast<std::uint32_t>(::getpid()));
    OffCpu off_cpu(pipeline, {});
    std::uint64_t now = 10 * second;
    off_cpu.begin(now);
    for (int i = 0; i < 3; ++i, now += second) switch_for_a_second(off_cpu, now, 45'000);
    CHECK_FALSE(off_cpu.too_many_records());
    for (int i = 0; i < 2; ++i, now += second) switch_for_a_second(off_cpu, now, 55'000);
    CHECK(off_cpu.too_many_records());
    off_cpu.continue_without_records(now);
    CHECK_FALSE(off_cpu.too_many_records());
    const std::uint64_t before = records(off_cpu);
    CHECK(before > 2 * (3 * 45'000 + 2 * 54'000));
    switch_for_a_second(off_cpu, now, 55'000);
    CHECK(records(off_cpu) == before);
    CHECK_FALSE(off_cpu.too_many_records());
}
