// Hosts that do what a sampling signal does not like.
#include <doctest/doctest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmath>
#include <thread>

#include "base/clock.hpp"
#include "capture/handler/hooks.hpp"
#include "collected.hpp"
#include "known_shares.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

// Samples of a thread that used `cpu_ns` miss at most a period and a tick at each end.
void check_covered(const Seen& seen, const CaptureFacts& facts, std::uint32_t tid, std::uint64_t cpu_ns) {
    const double sampled = static_cast<double>(seen.weight(tid) * facts.period_ns);
    CAPTURE(sampled / 1e6);
    CAPTURE(static_cast<double>(cpu_ns) / 1e6);
    CHECK(std::abs(sampled - static_cast<double>(cpu_ns)) < 2.0 * (static_cast<double>(facts.period_ns) + 10e6));
}

int raw_thread(void* argument) {
    auto* const tid = static_cast<std::atomic<std::uint32_t>*>(argument);
    tid->store(static_cast<std::uint32_t>(::syscall(SYS_gettid)));
    run_known_shares(300 * ns_per_ms);
    ::syscall(SYS_exit, 0);
    return 0;
}

volatile sig_atomic_t host_ticks = 0;
void count_tick(int) { host_ticks = host_ticks + 1; }

}  // namespace

TEST_CASE("threads are found that ran before, that come later, and that no libc knows of" * doctest::skip(under_tsan)) {
    std::atomic<bool> go{false};
    std::atomic<std::uint32_t> early_tid{0}, late_tid{0}, raw_tid{0};
    std::thread early([&] {
        early_tid = my_tid();
        while (!go) std::this_thread::yield();
        run_known_shares(300 * ns_per_ms);
    });
    while (early_tid == 0) std::this_thread::yield();
    Collected collected(&open_timer_source, {.frequency = 199});
    REQUIRE(collected.error() == "");
    go = true;
    std::atomic<std::uint64_t> late_ns{0};  // more than asked for by up to a round, which is long on a slow machine
    std::thread late([&] {
        late_tid = my_tid();
        collected.rounds(2);
        run_known_shares(300 * ns_per_ms);
        late_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
    });
    constexpr std::size_t stack_bytes = 256 * 1024;
    auto* const stack =
        static_cast<char*>(::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(::clone(&raw_thread, stack + stack_bytes,
                    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, &raw_tid) > 0);
    early.join();
    late.join();
    while (raw_tid == 0 || ::syscall(SYS_tgkill, ::getpid(), raw_tid.load(), 0) == 0) std::this_thread::yield();
    collected.rounds(3);
    const Seen& seen = collected.finish();
    ::munmap(stack, stack_bytes);
    for (const std::uint32_t tid : {early_tid.load(), late_tid.load(), raw_tid.load()}) {
        CAPTURE(tid);
        CHECK(seen.weight(tid) > 20);  // of 60
        CHECK(seen.started.at(tid) == 1);
        CHECK(seen.ended.at(tid) == 1);
    }
    check_covered(seen, collected.facts(), late_tid, late_ns);
}

TEST_CASE("a thread that covers itself is sampled from its first moment, and once") {
    Collected collected(&open_timer_source, {.frequency = 250}, std::chrono::milliseconds(200));
    REQUIRE(collected.error() == "");
    std::uint64_t used = 0, sampled = 0;
    std::vector<std::uint32_t> tids;
    for (int i = 0; i < 20; ++i) {
        std::thread([&] {
            handler::attach_this_thread();
            ::prctl(PR_SET_NAME, "brief");
            tids.push_back(my_tid());
            run_known_shares(30 * ns_per_ms);
            used += read_clock(CLOCK_THREAD_CPUTIME_ID);
        }).join();
    }
    collected.rounds(3);
    const Seen& seen = collected.finish();
    for (const std::uint32_t tid : tids) {
        sampled += seen.weight(tid) * collected.facts().period_ns;
        CHECK(seen.started.at(tid) == 1);
        CHECK(seen.ended.at(tid) == 1);
    }
    // Of each thread, up to a tick at its end is never noticed.
    CAPTURE(sampled);
    CAPTURE(used);
    CHECK(sampled <= used + 20 * 4 * ns_per_ms);
    CHECK(sampled + 20 * 8 * ns_per_ms >= used);
}

TEST_CASE("the time of a thread that blocks the signal is told of, not given to the code that comes after") {
    Collected collected(&open_timer_source, {.frequency = 199});
    REQUIRE(collected.error() == "");
    run_known_shares(100 * ns_per_ms);
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    run_known_shares(500 * ns_per_ms);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    run_known_shares(300 * ns_per_ms);
    const Seen& seen = collected.finish();
    REQUIRE(seen.unsampled_ns.contains(my_tid()));
    const auto told = static_cast<double>(seen.unsampled_ns.at(my_tid()));
    CHECK(told > 400e6);
    CHECK(told < 600e6);
    // The blocked time is 100 periods. On a busy machine ticks are late, and a sample has the periods of some.
    for (const auto& sample : seen.samples) {
        if (sample.tid == my_tid()) CHECK(sample.weight <= 50);
    }
    const double sum = told + static_cast<double>(seen.weight(my_tid()) * collected.facts().period_ns);
    CHECK(std::abs(sum - 900e6) < 100e6);
}

TEST_CASE("a host that uses SIGPROF and ITIMER_PROF keeps them") {
    struct sigaction action {};
    action.sa_handler = &count_tick;
    struct sigaction before {};
    ::sigaction(SIGPROF, &action, &before);
    const itimerval each_8_ms{{0, 8000}, {0, 8000}}, off{};
    ::setitimer(ITIMER_PROF, &each_8_ms, nullptr);
    host_ticks = 0;
    {
        Collected collected(&open_timer_source, {.frequency = 199});
        REQUIRE(collected.error() == "");
        run_known_shares(400 * ns_per_ms);
        check_covered(collected.finish(), collected.facts(), my_tid(), 400 * ns_per_ms);
    }
    ::setitimer(ITIMER_PROF, &off, nullptr);
    CHECK(host_ticks >= 10);  // of 50, of process time; a late tick of a busy machine stands for several
    struct sigaction now {};
    ::sigaction(SIGPROF, &before, &now);
    CHECK((now.sa_handler == &count_tick) == true);
}

TEST_CASE("a host that takes our signal while we run gets it, and we take another") {
    Collected collected(&open_timer_source, {.frequency = 199});
    REQUIRE(collected.error() == "");
    run_known_shares(200 * ns_per_ms);
    bool told = false;
    SUBCASE("and says so: not one signal of ours comes to it") {
        handler::yield_signal(SIGPROF);
        told = true;
    }
    SUBCASE("without a word: it is noticed at the next drain") {}
    host_ticks = 0;
    struct sigaction action {};
    action.sa_handler = &count_tick;
    struct sigaction ours {};
    ::sigaction(SIGPROF, &action, &ours);
    CHECK((ours.sa_flags & SA_SIGINFO) != 0);
    if (told) run_known_shares(50 * ns_per_ms);
    if (told) CHECK(host_ticks == 0);
    collected.rounds(3);
    host_ticks = 0;
    run_known_shares(400 * ns_per_ms);
    CHECK(host_ticks == 0);
    const Seen& seen = collected.finish();
    CHECK(seen.weight(my_tid()) * collected.facts().period_ns > 500 * ns_per_ms);
    ::signal(SIGPROF, SIG_DFL);
}

TEST_CASE("above the tick's frequency samples stand for several periods") {
    Collected collected(&open_timer_source, {.frequency = 10'000}, std::chrono::milliseconds(10));
    REQUIRE(collected.error() == "");
    run_known_shares(500 * ns_per_ms);
    const Seen& seen = collected.finish();
    check_covered(seen, collected.facts(), my_tid(), 500 * ns_per_ms);
    CHECK(collected.facts().note.find("several periods") != std::string::npos);
}

TEST_CASE("a source can be stopped and started, and a second one opened after it") {
    for (int i = 0; i < 2; ++i) {
        auto source = open_timer_source({.frequency = 199});
        REQUIRE(source);
        Seen seen;
        std::atomic<bool> done{false};
        std::atomic<std::uint32_t> tid{0};
        std::atomic<unsigned> work{0};  // 5 ms of CPU time each, however busy the machine is
        std::thread host([&] {
            tid = my_tid();
            for (; !done; ++work) run_known_shares(5 * ns_per_ms);
        });
        const auto wait_for_work = [&work](unsigned more) {
            for (const unsigned until = work + more; work < until;)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
        };
        wait_for_work(1);  // until libc lets signals through to the new thread
        for (int turn = 0; turn < 2; ++turn) {
            REQUIRE((*source)->start());
            wait_for_work(40);
            (*source)->stop();
            const auto drained_before = seen.samples.size();
            (*source)->drain(seen);
            const auto drained = seen.samples.size();
            CHECK(drained > drained_before);
            wait_for_work(10);
            (*source)->drain(seen);
            CHECK(seen.samples.size() == drained);
        }
        done = true;
        host.join();
        CHECK(seen.weight(tid) > 60);  // of 80
    }
}
