#include <doctest/doctest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <thread>

#include "base/clock.hpp"
#include "collected.hpp"
#include "cpu_log.hpp"
#include "known_shares.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

void ignore_signal(int) {}

bool permitted() {
    const auto source = open_signal_source({.frequency = 99});
    if (!source) MESSAGE("not tried: ", source.error().message);
    return static_cast<bool>(source);
}

}  // namespace

TEST_CASE("perf signals see known shares in threads older and newer than the source" * doctest::skip(!permitted())) {
    std::atomic<std::uint32_t> old_tid{0}, new_tid{0};
    std::atomic<Collected*> running{nullptr};
    const auto work = [](Collected& collected) {
        const SampleCount& samples = collected.count_mine();
        work_until([&] { return samples >= 500; });
    };
    std::thread old([&] {
        old_tid = my_tid();
        while (running == nullptr) std::this_thread::yield();
        work(*running);
    });
    while (old_tid == 0) std::this_thread::yield();
    Collected collected(&open_signal_source, {.frequency = 2000, .stack_bytes = 4096}, std::chrono::milliseconds(10));
    REQUIRE(collected.error() == "");
    running = &collected;
    std::thread young([&] {
        new_tid = my_tid();
        work(collected);
    });
    old.join();
    young.join();
    const Seen& seen = collected.finish();

    for (const std::uint32_t tid : {old_tid.load(), new_tid.load()}) check_shares(seen, tid, 450);
    CHECK(seen.mapped_late == 0);
    CHECK(seen.started.contains(old_tid));
}

TEST_CASE("a host with a handler for SIGTRAP keeps it") {
    ::signal(SIGTRAP, &ignore_signal);
    const auto source = open_signal_source({.frequency = 99});
    REQUIRE_FALSE(source);
    CHECK(source.error().message.find("SIGTRAP") != std::string::npos);
    ::signal(SIGTRAP, SIG_DFL);
}

TEST_CASE("exec is not killed by a signal on its way, in either engine") {
    for (const auto open : {&open_timer_source, &open_signal_source}) {
        if (open == &open_signal_source && !permitted()) continue;
        for (int i = 0; i < 20; ++i) {
            const pid_t child = ::fork();
            if (child == 0) {
                Collected collected(open, {.frequency = 4000}, std::chrono::milliseconds(5));
                run_known_shares(10 * ns_per_ms);
                if (!collected.error().empty()) ::_exit(1);
                ::execl("/bin/true", "true", nullptr);
                ::_exit(2);
            }
            int status = 0;
            REQUIRE(::waitpid(child, &status, 0) == child);
            CHECK(WIFEXITED(status));
            CHECK(WEXITSTATUS(status) == 0);
        }
    }
}
