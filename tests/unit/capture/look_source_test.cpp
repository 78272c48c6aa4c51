#include <doctest/doctest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "capture/event_source.hpp"
#include "collected.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

TEST_CASE("without perf the threads are told as they come and go, and the mappings, but no samples") {
    auto source = open_look_source({}, "refused");
    REQUIRE(source);
    CHECK((*source)->facts().no_switches == "refused");
    CHECK((*source)->facts().works_outside);
    CHECK_FALSE((*source)->has_samples());
    Seen seen;
    REQUIRE((*source)->start());
    (*source)->drain(seen);
    CHECK_FALSE(seen.mappings.empty());

    std::atomic<std::uint32_t> tid{0};
    std::atomic<bool> end{false};
    std::thread thread([&] {
        ::pthread_setname_np(::pthread_self(), "looked-at");
        tid = static_cast<std::uint32_t>(::syscall(SYS_gettid));
        while (!end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    const auto until = [&](const auto& is_told) {
        for (int tries = 0; tries < 1000 && !is_told(); ++tries) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            (*source)->drain(seen);
        }
        return is_told();
    };
    CHECK(until([&] { return tid != 0 && seen.names[tid] == "looked-at"; }));
    end = true;
    thread.join();
    CHECK(until([&] { return seen.ended[tid] == 1; }));
    CHECK(seen.started[tid] == 1);
    CHECK(seen.samples.empty());
}
