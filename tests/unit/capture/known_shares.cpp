#include "known_shares.hpp"

#include <time.h>

#include <algorithm>

#include "base/clock.hpp"

namespace {

// The same code at the same place in a cache line takes the same time: one whose loop crosses a boundary took twice as
// long. A section named like an identifier gets __start_ and __stop_ symbols from the linker: the pc's range.
#define FLAMEPROBE_SHARE(name)                                                               \
    [[gnu::noinline, gnu::section(#name), gnu::aligned(64)]] void name(unsigned units) {     \
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

constexpr std::array<void (*)(unsigned), 4> functions = {share_70, share_20, share_7, share_3};

}  // namespace

namespace flameprobe::test {

KnownShares::KnownShares() {
    std::size_t at = 0;
    for (std::size_t share = 0; share < functions.size(); ++share) {
        for (unsigned i = 0; i < known_shares[share]; ++i) units_[at++] = functions[share];
    }
}

void KnownShares::round() {
    std::shuffle(units_.begin(), units_.end(), random_);
    for (const Function function : units_) function(1);
}

void run_known_shares(std::uint64_t cpu_ns) {
    const std::uint64_t end = read_clock(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
    KnownShares work;
    while (read_clock(CLOCK_THREAD_CPUTIME_ID) < end) work.round();
}

int known_share_of(std::uint64_t pc) {
    if (within(pc, __start_share_70, __stop_share_70)) return 0;
    if (within(pc, __start_share_20, __stop_share_20)) return 1;
    if (within(pc, __start_share_7, __stop_share_7)) return 2;
    if (within(pc, __start_share_3, __stop_share_3)) return 3;
    return -1;
}

}  // namespace flameprobe::test
