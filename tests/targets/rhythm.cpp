// A program in step with itself: rhythm PERIOD_NS MILLISECONDS. Eight functions take turns, each for an eighth of every
// period of the thread's CPU time. Printed is the CPU time that each really had, a line each, so that a late turn on a
// busy machine is known.
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr unsigned parts = 8;
std::uint64_t used_ns[parts];
std::uint64_t last_ns;

std::uint64_t cpu_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

/// A microsecond or so between two looks at the clock: an engine that samples user code only should find some.
[[gnu::always_inline]] inline void work_until(unsigned part, std::uint64_t end_ns) {
    std::uint64_t now = last_ns;
    for (; now < end_ns; now = cpu_ns())
        for (unsigned turn = 0; turn < 1000; ++turn) asm volatile("");
    used_ns[part] += now - last_ns;
    last_ns = now;
}

#define PART(number)                                             \
    [[gnu::noinline]] void part_##number(std::uint64_t end_ns) { \
        work_until(number, end_ns);                              \
        asm volatile(""); /* no tail call */                     \
    }
PART(0)
PART(1)
PART(2)
PART(3)
PART(4)
PART(5)
PART(6)
PART(7)

}  // namespace

int main(int count, char** arguments) {
    if (count < 3) return 2;
    const std::uint64_t period = std::strtoull(arguments[1], nullptr, 10);
    const std::uint64_t length = std::strtoull(arguments[2], nullptr, 10) * 1'000'000;
    constexpr void (*part[parts])(std::uint64_t) = {part_0, part_1, part_2, part_3, part_4, part_5, part_6, part_7};
    const std::uint64_t start = last_ns = cpu_ns();
    for (std::uint64_t turn = start; turn < start + length; turn += period)
        for (unsigned i = 0; i < parts; ++i) part[i](turn + period * (i + 1) / parts);
    for (const std::uint64_t used : used_ns) std::printf("%llu\n", static_cast<unsigned long long>(used));
}
