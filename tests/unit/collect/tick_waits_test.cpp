#include "collect/tick_waits.hpp"

#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <map>
#include <thread>

#include "base/clock.hpp"
#include "collect/read_waits.hpp"
#include "outside/counters.hpp"

using namespace flameprobe;

TEST_CASE("without switch records a thread's waits and delays are worked out from its scheduler account") {
    using Kind = WaitRegistry::Kind;
    std::atomic<std::uint32_t> tid{0};
    std::atomic<bool> over{false};
    std::thread thread([&] {
        tid = static_cast<std::uint32_t>(::gettid());
        while (!over) {
            for (const std::uint64_t end = monotonic_ns() + 3'000'000; monotonic_ns() < end;) continue;
            std::this_thread::sleep_for(std::chrono::milliseconds(4));
        }
    });
    while (tid == 0) std::this_thread::yield();
    BlockedReader reader;
    std::map<Kind, std::uint64_t> told;
    std::map<std::int64_t, int> calls;
    TickWaits waits(
        reader,
        [&](std::uint32_t, const BlockedThread& where) {
            ++calls[where.call];
            return WaitPlace{5, 1};
        },
        [](HeldLooks&) {}, [](std::uint32_t) { return StackId{9}; },
        [&](const WaitRegistry::Span& span) {
            if (span.tid != tid) return;
            told[span.kind] += span.ns;
            if (span.kind == Kind::waited) CHECK((span.stack == 5 || span.stack == 0));
            if (span.kind == Kind::preempted) CHECK(span.stack == 9);
        });
    const auto account = [&] {
        const auto schedule = reader.schedule(tid);
        REQUIRE(schedule.has_value());
        return schedule->cpu_ns + schedule->delay_ns;
    };
    const std::uint64_t used = account(), begin = monotonic_ns();
    for (int i = 0; i < 60; ++i) {
        waits.look(monotonic_ns());
        waits.settle(monotonic_ns());
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    const std::uint64_t end = monotonic_ns(), away = account() - used;
    waits.end(end);
    waits.settle_all();
    over = true;
    thread.join();
    // Wide bounds, as this thread may be held up between looking and reading clocks. Some 4/7 of the time are waits.
    const auto life = static_cast<double>(end - begin);
    CHECK(static_cast<double>(told[Kind::waited] + away) > 0.6 * life);
    CHECK(static_cast<double>(told[Kind::waited] + told[Kind::preempted]) < 1.05 * life);
    CHECK(told[Kind::idle] == 0);
    CHECK(waits.blocked_ns() >= told[Kind::waited]);
    CHECK(calls.contains(SYS_clock_nanosleep));
}

TEST_CASE("time and waits by system call: the sampled waits are scaled to the number that there were") {
    WaitReasons reasons;
    const WaitReason read = reasons.find(SYS_read, "pipe_read"), socket = reasons.find(SYS_read, "sk_wait"),
                     fault = reasons.find(BlockedThread::no_call, "");
    CHECK(reasons.find(SYS_read, "pipe_read") == read);
    reasons.add(read, 100, 3);
    reasons.add(socket, 200, 1);
    reasons.add(fault, 50, 1);
    Counters counters;
    reasons.add_to(counters, 10);
    const auto calls = blocked_calls(counters);
    REQUIRE(calls.size() == 2);
    CHECK(calls[0].call == "read");
    CHECK(calls[0].ns == 300);
    CHECK(calls[0].waits == 8);
    CHECK(calls[0].channels == std::map<std::string, std::uint64_t>{{"pipe_read", 100}, {"sk_wait", 200}});
    CHECK(calls[1].call == "[not in a system call]");
    CHECK(calls[1].waits == 2);
}
