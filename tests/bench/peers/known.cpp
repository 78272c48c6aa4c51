// Programs whose shares are known, for tests/bench/peers: known MODE AMOUNT. Each prints lines "FUNCTION WEIGHT": the
// CPU time that the function and what it calls had, or a number in proportion to it. What tests/targets has is not here
// again.
//
//   threads ROUNDS   three long threads, 50, 30 and 20 units each round
//   idle THREADS     threads that sleep and work 50 us in turn: three rounds of ten in `early`, then seven in `late`
//   deep ROUNDS      from two callers, 70 and 30, down 448 frames of half a kilobyte; all work is at the bottom
//   lambdas ROUNDS   two lambdas of one function, 60 and 40
//   allocs ROUNDS    three functions that allocate blocks of 256 bytes, 50, 30 and 20 of each hundred; "wall NS" too
//   busy THREADS     as much work whatever the number of threads; prints "wall NS"
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "../../targets/shares/burn.hpp"

#define APART __attribute__((noipa))
#define NOT_A_TAIL_CALL asm volatile("" ::: "memory")

std::uint64_t now(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

/// Varies from round to round, so that no sampling period can be in step with the rounds.
unsigned scale_of(unsigned long round) { return 1 + (static_cast<std::uint32_t>(round + 1) * 2654435761U >> 28); }

#define THREAD(units)                                                                                \
    APART void thread_##units(unsigned long rounds) {                                                \
        for (unsigned long round = 0; round < rounds; ++round) shares::burn(units* scale_of(round)); \
        NOT_A_TAIL_CALL;                                                                             \
    }
THREAD(50)
THREAD(30)
THREAD(20)

void threads(unsigned long rounds) {
    std::thread all[] = {std::thread(thread_50, rounds), std::thread(thread_30, rounds),
                         std::thread(thread_20, rounds)};
    for (auto& thread : all) thread.join();
    std::puts("thread_50 50\nthread_30 30\nthread_20 20");
}

APART void early() {
    shares::burn(100);
    NOT_A_TAIL_CALL;
}
APART void late() {
    shares::burn(100);
    NOT_A_TAIL_CALL;
}

/// Sleeping, waking and making threads is neither's: it is told as "elsewhere", from the threads' own clocks.
void idle(unsigned long count) {
    std::atomic<std::uint64_t> used[2]{}, lives{0};
    std::vector<std::thread> all;
    for (unsigned long n = 0; n < count; ++n) {
        all.emplace_back([&used, &lives, n] {
            for (unsigned round = 0; round < 10; ++round) {
                const timespec span{0, static_cast<long>(150'000'000 + (n * 7919 + round * 104729) % 100 * 1'000'000)};
                ::nanosleep(&span, nullptr);
                const std::uint64_t begun = now(CLOCK_THREAD_CPUTIME_ID);
                round < 3 ? early() : late();
                used[round < 3 ? 0 : 1] += now(CLOCK_THREAD_CPUTIME_ID) - begun;
            }
            lives += now(CLOCK_THREAD_CPUTIME_ID);
        });
    }
    for (auto& thread : all) thread.join();
    const std::uint64_t elsewhere = lives + now(CLOCK_THREAD_CPUTIME_ID) - used[0] - used[1];
    std::printf("early %llu\nlate %llu\nelsewhere %llu\n", static_cast<unsigned long long>(used[0]),
                static_cast<unsigned long long>(used[1]), static_cast<unsigned long long>(elsewhere));
}

APART void bottom(unsigned units) {
    shares::burn(units);
    NOT_A_TAIL_CALL;
}
APART void descend(unsigned left, unsigned units) {
    char frame[480];
    asm volatile("" : : "r"(frame) : "memory");
    left == 0 ? bottom(units) : descend(left - 1, units);
    asm volatile("" : : "r"(frame) : "memory");
}
#define CALLER(units)                           \
    APART void caller_##units(unsigned scale) { \
        descend(448, units* scale);             \
        NOT_A_TAIL_CALL;                        \
    }
CALLER(70)
CALLER(30)

void deep(unsigned long rounds) {
    for (unsigned long round = 0; round < rounds; ++round) {
        caller_70(scale_of(round));
        caller_30(scale_of(round));
    }
    std::puts("caller_70 70\ncaller_30 30");
}

template <class Work>
APART void call(const Work& work) {
    work();
    NOT_A_TAIL_CALL;
}
void lambdas(unsigned long rounds) {
    for (unsigned long round = 0; round < rounds; ++round) {
        const unsigned scale = scale_of(round);
        call([scale] { shares::burn(60 * scale); });
        call([scale] { shares::burn(40 * scale); });
    }
    std::puts("lambda_1 60\nlambda_2 40");
}

#define SITE(units)                                                  \
    APART void site_##units(unsigned scale) {                        \
        for (unsigned left = units / 10 * scale; left > 0; --left) { \
            char* volatile block = new char[256];                    \
            delete[] block;                                          \
        }                                                            \
        NOT_A_TAIL_CALL;                                             \
    }
SITE(50)
SITE(30)
SITE(20)

void allocs(unsigned long rounds) {
    const std::uint64_t begun = now(CLOCK_MONOTONIC);
    for (unsigned long round = 0; round < rounds; ++round) {
        site_50(scale_of(round));
        site_30(scale_of(round));
        site_20(scale_of(round));
    }
    std::printf("site_50 50\nsite_30 30\nsite_20 20\nwall %llu\n",
                static_cast<unsigned long long>(now(CLOCK_MONOTONIC) - begun));
}

void busy(unsigned long count) {
    constexpr unsigned long all_units = 1'600'000;
    const std::uint64_t begun = now(CLOCK_MONOTONIC);
    std::vector<std::thread> all;
    for (unsigned long n = 0; n < count; ++n)
        all.emplace_back([count] {
            for (unsigned long left = all_units / count; left > 0; --left) shares::burn(1);
        });
    for (auto& thread : all) thread.join();
    std::printf("wall %llu\n", static_cast<unsigned long long>(now(CLOCK_MONOTONIC) - begun));
}

int main(int argc, char** argv) {
    constexpr struct {
        const char* name;
        void (*run)(unsigned long);
    } modes[] = {{"threads", threads}, {"idle", idle},     {"deep", deep},
                 {"lambdas", lambdas}, {"allocs", allocs}, {"busy", busy}};
    const unsigned long amount = argc == 3 ? std::strtoul(argv[2], nullptr, 10) : 0;
    for (const auto& mode : modes)
        if (amount != 0 && std::strcmp(argv[1], mode.name) == 0) return mode.run(amount), 0;
    std::fputs("usage: known threads|idle|deep|lambdas|allocs|busy AMOUNT\n", stderr);
    return 2;
}
