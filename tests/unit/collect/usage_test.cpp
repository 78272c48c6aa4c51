#include "collect/usage.hpp"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <semaphore>
#include <thread>

#include "profile/model.hpp"

using namespace flameprobe;

TEST_CASE("page faults and peak memory are those since sampling began") {
    constexpr std::size_t size = 32 << 20;
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    UsageAccount account;
    account.begin(0);
    // Pages of the usual size, each a fault.
    auto* const memory = static_cast<char*>(
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    REQUIRE(memory != MAP_FAILED);
    ::madvise(memory, size, MADV_NOHUGEPAGE);
    for (std::size_t at = 0; at < size; at += page) memory[at] = 1;
    account.read(1, false);  // too soon
    Counters counters;
    account.add_to(counters);
    CHECK(counters[std::string(counter::minor_faults)] == 0);
    account.read(1, true);
    account.add_to(counters);
    CHECK(counters[std::string(counter::minor_faults)] >= size / page);
    CHECK(counters[std::string(counter::minor_faults)] < 4 * size / page);
    CHECK(counters[std::string(counter::peak_memory)] >= size);
    ::munmap(memory, size);
}

TEST_CASE("run-queue delay and migrations are those of each thread since sampling began") {
    cpu_set_t allowed;
    REQUIRE(::sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    std::binary_semaphore moves{0}, moved{0};
    std::uint32_t tid = 0;
    // Moves from CPU to CPU at each `moves`, and waits in between.
    std::thread mover([&] {
        tid = static_cast<std::uint32_t>(::gettid());
        for (int round = 0; round < 2; ++round) {
            moved.release();
            moves.acquire();
            for (int turn = 0; turn < 5; ++turn) {
                for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
                    if (!CPU_ISSET(cpu, &allowed)) continue;
                    cpu_set_t one;
                    CPU_ZERO(&one);
                    CPU_SET(cpu, &one);
                    ::sched_setaffinity(0, sizeof one, &one);
                }
            }
        }
        moved.release();
        moves.acquire();
    });
    moved.acquire();
    // The mover may not wait yet, and may still be migrated before it does.
    const auto before = read_scheduling(tid);
    SchedulingAccount since_its_birth, since_now;
    since_its_birth.begin({});
    since_now.begin({tid});
    const auto begun = read_scheduling(tid);
    moves.release();
    moved.acquire();
    since_now.look({tid}, 1);
    moves.release();
    moved.acquire();
    const auto after = read_scheduling(tid);
    since_its_birth.look({tid}, 1);
    since_now.look({tid}, 1);
    const auto ended = read_scheduling(tid);
    moves.release();
    mover.join();
    if (!before || !begun || !after || !ended) {
        MESSAGE("this kernel keeps no schedstat");
        return;
    }
    Counters of_life, of_part;
    since_its_birth.add_to(of_life);
    since_now.add_to(of_part);
    const auto check = [&](std::string_view name, const auto& value) {
        CAPTURE(name);
        CHECK(of_life[std::string(name)] >= value(*after));
        CHECK(of_life[std::string(name)] <= value(*ended));
        CHECK(of_part[std::string(name)] >= value(*after) - value(*begun));
        CHECK(of_part[std::string(name)] <= value(*ended) - value(*before));
    };
    check(counter::run_queue, [](const ThreadScheduling& thread) { return thread.run_queue_ns; });
    if (!after->migrations) return;
    check(counter::migrations, [](const ThreadScheduling& thread) { return thread.migrations.value_or(0); });
    const std::string migrations(counter::migrations);
    if (CPU_COUNT(&allowed) > 1) CHECK(of_part[migrations] >= 10);
}
