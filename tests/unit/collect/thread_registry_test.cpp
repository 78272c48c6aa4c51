#include "collect/thread_registry.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "collect/off_cpu.hpp"
#include "collect/pipeline.hpp"
#include "kept.hpp"

using namespace flameprobe;

namespace {

constexpr std::uint32_t first_of_many = 4'000'000'000;  // of no thread
constexpr std::uint64_t used_ns = 1'000'000;

/// Threads one after the other, each of which is sampled once and tells what it used.
void live_and_end(Pipeline& pipeline, std::uint32_t from, std::uint32_t to, bool name_each) {
    for (std::uint32_t number = from; number < to; ++number) {
        const std::uint32_t tid = first_of_many + number % 4096;
        pipeline.threads().started(tid);
        pipeline.threads().renamed(tid, name_each ? "worker-" + std::to_string(number) : "worker");
        pipeline.threads().count(pipeline.thread_of(tid, true), used_ns);
        pipeline.threads().ended(tid);
        EndedThread ended{.tid = tid, .cpu_ns = used_ns, .routine = 0, .caller = 0};
        std::snprintf(ended.name, sizeof ended.name, "%s",
                      name_each ? ("w" + std::to_string(number)).c_str() : "worker");
        pipeline.ledger().thread_ended(ended);
    }
}

}  // namespace

TEST_CASE("threads one after the other make the account no larger, and all of it stays in it") {
    for (const bool name_each : {false, true}) {
        Kept kept;
        Pipeline pipeline(kept, false, 0, used_ns, first_of_many - 1);
        live_and_end(pipeline, 0, 50'000, name_each);
        const std::size_t threads = kept.threads.size(), bytes = pipeline.memory();
        live_and_end(pipeline, 50'000, 150'000, name_each);
        CHECK(kept.threads.size() == threads);
        CHECK(pipeline.memory() == bytes);
        const auto accounts = pipeline.threads().accounts();
        const auto sum = [&](auto member) {
            return std::accumulate(accounts.begin(), accounts.end(), std::uint64_t{0},
                                   [&](std::uint64_t so_far, const auto& one) { return so_far + one.*member; });
        };
        CHECK(sum(&ThreadAccount::cpu_ns) == 150'000 * used_ns);
        CHECK(sum(&ThreadAccount::samples) == 150'000 * used_ns);
        CHECK(pipeline.threads().without_entry() > 100'000);
        const std::size_t samples = kept.samples.size();
        pipeline.ledger().write_rests(150'000 * used_ns);
        CHECK(kept.samples.size() == samples);  // nothing is missing
    }
}

TEST_CASE("locks one after the other make their sums no larger, and the longest waits stay") {
    LockSums sums;
    sums.add(1, 1, 1'000'000);
    for (std::uint64_t lock = 2; lock < 100'000; ++lock) sums.add(lock, 1, lock);
    CHECK(sums.memory() < 1 << 20);
    Counters counters;
    sums.add_to(counters);
    CHECK(counters.contains(lock_counter::of(lock_address(1), lock_counter::longest)));
    CHECK(counters.contains(lock_counter::of(lock_address(99'999), lock_counter::waits)));
}
