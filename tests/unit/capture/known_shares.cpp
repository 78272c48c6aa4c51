#include "known_shares.hpp"

#include <time.h>

#include "base/clock.hpp"

namespace {

// A section named like an identifier gets __start_ and __stop_ symbols from the linker: the pc's range.
#define FLAMEPROBE_SHARE(name)                                                               \
    [[gnu::noinline, gnu::section(#name)]] void name(unsigned units) {                       \
        for (std::uint64_t i = 0; i < units * 20'000ULL; ++i) asm volatile("" ::: "memory"); \
    }                                                                                        \
    extern "C" const char __start_##name[], __stop_##name[];

FLAMEPROBE_SHARE(share_70)
FLAMEPROBE_SHARE(share_20)
FLAMEPROBE_SHARE(share_7)
FLAMEPROBE_SHARE(share_3)

bool within(std::uint64_t pc, const char* start, const char* stop) {
    return reinterpret_cast<std::uint64_t>(start) <= pc && pc < reinterpret_cast<std::uint64_t>(stop);
}

const volatile unsigned unknown_to_the_compiler[] = {
    flameprobe::test::known_shares[0], flameprobe::test::known_shares[1], flameprobe::test::known_shares[2],
    flameprobe::test::known_shares[3]};

}  // namespace

namespace flameprobe::test {

void run_known_shares(std::uint64_t cpu_ns) {
    const std::uint64_t end = read_clock(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
    const volatile unsigned* const units = unknown_to_the_compiler;  // so that no copy is made for a constant
    while (read_clock(CLOCK_THREAD_CPUTIME_ID) < end) {
        share_70(units[0]);
        share_20(units[1]);
        share_7(units[2]);
        share_3(units[3]);
    }
}

int known_share_of(std::uint64_t pc) {
    if (within(pc, __start_share_70, __stop_share_70)) return 0;
    if (within(pc, __start_share_20, __stop_share_20)) return 1;
    if (within(pc, __start_share_7, __stop_share_7)) return 2;
    if (within(pc, __start_share_3, __stop_share_3)) return 3;
    return -1;
}

}  // namespace flameprobe::test
