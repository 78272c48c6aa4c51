// Hosts that interfere with the sampling signal.
#include <doctest/doctest.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/proc.hpp"
#include "capture/handler/handler.hpp"
#include "capture/timer_slots.hpp"
#include "collected.hpp"
#include "cpu_log.hpp"
#include "known_shares.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

struct RawThread {
    Collected& collected;
    std::atomic<std::uint32_t> tid{0};
};

int raw_thread(void* argument) {
    auto& self = *static_cast<RawThread*>(argument);
    const SampleCount& samples = self.collected.count_mine();
    self.tid.store(my_tid());
    const std::uint64_t end = read_clock(CLOCK_THREAD_CPUTIME_ID) + most_cpu_ns;
    while (samples < 20 && read_clock(CLOCK_THREAD_CPUTIME_ID) < end) run_known_shares(10 * ns_per_ms);
    ::syscall(SYS_exit, 0);
    return 0;
}

volatile sig_atomic_t host_ticks = 0;
void count_tick(int) { host_ticks = host_ticks + 1; }

}  // namespace

TEST_CASE("threads are found that ran before, that start later, and that libc does not know" *
          doctest::skip(under_tsan)) {
    std::atomic<bool> go{false};
    std::atomic<std::uint32_t> early_tid{0}, late_tid{0};
    Collected* running = nullptr;
    std::thread early([&] {
        early_tid = my_tid();
        while (!go) std::this_thread::yield();
        const SampleCount& samples = running->count_mine();
        work_until([&] { return samples >= 20; });
    });
    while (early_tid == 0) std::this_thread::yield();
    Collected collected(&open_timer_source, {.frequency = 199});
    REQUIRE(collected.error() == "");
    running = &collected;
    go = true;
    CpuLog late_log;
    std::thread late([&] {
        late_tid = my_tid();
        collected.rounds(2);
        const SampleCount& samples = collected.count_mine();
        late_log = work_until([&] { return samples >= 40; });
    });
    constexpr std::size_t stack_bytes = 256 * 1024;
    auto* const stack =
        static_cast<char*>(::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    RawThread raw{collected};
    REQUIRE(::clone(&raw_thread, stack + stack_bytes,
                    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, &raw) > 0);
    early.join();
    late.join();
    while (raw.tid == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::uint32_t tids[] = {early_tid, late_tid, raw.tid};
    for (const std::uint32_t tid : tids) wait_until_gone(tid);
    collected.rounds(2);
    const Seen& seen = collected.finish();
    ::munmap(stack, stack_bytes);
    for (const std::uint32_t tid : tids) {
        CAPTURE(tid);
        CHECK(seen.hits(tid) >= 20);
        CHECK(seen.started.at(tid) == 1);
        CHECK(seen.ended.at(tid) == 1);
    }
    check_covered(seen, collected.facts(), late_tid, Moment{}, late_log);
}

TEST_CASE("a thread that attaches itself is sampled from its start, and only once") {
    Collected collected(&open_timer_source, {.frequency = 250}, std::chrono::milliseconds(200));
    REQUIRE(collected.error() == "");
    std::vector<std::pair<std::uint32_t, CpuLog>> threads;
    std::uint64_t used_ns = 0;
    // On a busy machine most of the threads end before a tick has hit them.
    while (threads.size() < 30 || (collected.samples() < 40 && used_ns < most_cpu_ns)) {
        std::thread([&] {
            handler::attach_this_thread();
            ::prctl(PR_SET_NAME, "brief");
            CpuLog log;
            KnownShares work;
            for (log.note(); log.last().cpu_ns < 30 * ns_per_ms; log.note()) work.round();
            used_ns += log.last().cpu_ns;
            threads.emplace_back(my_tid(), log);
        }).join();
    }
    wait_until_gone(threads.back().first);
    collected.rounds(2);
    const Seen& seen = collected.finish();
    std::size_t hits = 0;
    std::uint64_t sampled_ns = 0, least_ns = 0, most_ns = 0;
    double variance = 0, in_step = 0;  // in ticks
    for (const auto& [tid, log] : threads) {
        CHECK(seen.started.at(tid) == 1);
        CHECK(seen.ended.at(tid) == 1);
        if (seen.hits(tid) == 0) continue;
        hits += seen.hits(tid);
        sampled_ns += seen.weight(tid);
        // Ticks hit at an even distance who has the CPU for itself, and by chance who shares it. Each thread's timer
        // starts at a random place in its period.
        const double used = static_cast<double>(log.used_ns());
        const double others = std::max(1 - used / static_cast<double>(log.last().time_ns - log.first().time_ns), 0.0);
        variance += 0.5 + used / static_cast<double>(flameprobe::tick_ns()) * others;
        // Nor by chance: ticks end turns. Beside one that never sleeps half of the time is missing, beside sleepers a
        // fourth is too much. Of a life up to five ticks of that are not made up for (TickWeight).
        in_step += 5 * others;
        least_ns += log.least_at(seen.last_ns(tid));
        most_ns += log.last().cpu_ns;
    }
    const double slack = static_cast<double>(flameprobe::tick_ns()) * (5 * std::sqrt(variance) + in_step);
    CHECK(static_cast<double>(sampled_ns) <= static_cast<double>(most_ns) + slack);
    CHECK(static_cast<double>(sampled_ns + seen.lost_ns) + slack >= static_cast<double>(least_ns));
    CHECK(hits >= 30);
}

TEST_CASE("time with the signal blocked is reported as unsampled, not attributed to the code that comes after") {
    const Moment begin = Moment::now();
    Collected collected(&open_timer_source, {.frequency = 199});
    REQUIRE(collected.error() == "");
    const SampleCount& samples = collected.count_mine();
    const CpuLog sampled = work_until([&] { return samples >= 10; });
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    const Moment block = Moment::now();
    run_known_shares(500 * ns_per_ms);
    const Moment blocked = Moment::now();
    const unsigned rounds = collected.rounds_so_far() + 4;
    work_until([&] { return collected.rounds_so_far() >= rounds; });
    const Moment unblock = Moment::now();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    collected.rounds(2);  // the timer is armed again
    const std::uint64_t enough = samples + 20;
    const CpuLog after = work_until([&] { return samples >= enough; });
    const Seen& seen = collected.finish();
    CHECK(samples >= enough);

    const std::uint32_t tid = my_tid();
    REQUIRE(seen.unsampled_ns.contains(tid));
    const std::uint64_t told = seen.unsampled_ns.at(tid);
    std::uint64_t last_before_ns = 0;
    for (const auto& sample : seen.samples) {
        if (sample.tid == tid && sample.time_ns <= block.time_ns) last_before_ns = sample.time_ns;
    }
    // Reported in whole periods until the collector noticed, and exactly from then on.
    const std::uint64_t slack = 2 * collected.facts().period_ns + ns_per_ms;
    CHECK(told + slack >= unblock.cpu_ns - block.cpu_ns);
    CHECK(told <= after.first().cpu_ns - sampled.least_at(last_before_ns) + slack);
    check_covered(seen, collected.facts(), tid, {begin, sampled.first(), block}, sampled);
    // Sample times may be up to a tick early: those since `blocked` count, against the CPU time since the signal was
    // unblocked.
    const Moment let_through{blocked.time_ns, unblock.cpu_ns};
    check_covered(seen, collected.facts(), tid, let_through, after);
}

TEST_CASE("the time of a thread that runs in the kernel only is the kernel's" * doctest::skip(under_tsan)) {
    io_uring_params params{};
    params.flags = IORING_SETUP_SQPOLL;
    params.sq_thread_idle = 10'000;  // milliseconds in which its thread looks for work, once there was some
    const Descriptor ring(static_cast<int>(::syscall(SYS_io_uring_setup, 1, &params)));
    if (!ring) {
        MESSAGE("not permitted here: io_uring");
        return;
    }
    const auto shared = [&](std::size_t bytes, off_t place) {
        return static_cast<char*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.get(), place));
    };
    char* const queue = shared(params.sq_off.array + sizeof(std::uint32_t), IORING_OFF_SQ_RING);
    char* const entries = shared(sizeof(io_uring_sqe), IORING_OFF_SQES);
    REQUIRE(queue != MAP_FAILED);
    REQUIRE(entries != MAP_FAILED);  // an entry of zeros does nothing
    Collected collected(&open_timer_source, {.frequency = 199});
    REQUIRE(collected.error() == "");
    __atomic_store_n(reinterpret_cast<std::uint32_t*>(queue + params.sq_off.tail), 1, __ATOMIC_RELEASE);
    REQUIRE(::syscall(SYS_io_uring_enter, ring.get(), 0, 0, IORING_ENTER_SQ_WAKEUP, nullptr, 0) == 0);
    std::uint32_t tid = 0;  // the thread gives itself its name when it first runs
    for (int i = 0; i < 1000 && tid == 0; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(10)))
        for (const std::uint32_t task : list_threads())
            if (thread_comm(task).starts_with("iou-sqp")) tid = task;
    REQUIRE(tid != 0);
    collected.rounds(2);
    for (const std::uint64_t begun = cpu_time(tid).value(); cpu_time(tid).value() < begun + 50 * ns_per_ms;)
        std::this_thread::yield();
    collected.rounds(2);
    const Seen& seen = collected.finish();
    REQUIRE(seen.kernel_ns.contains(tid));
    CHECK(seen.kernel_ns.at(tid) >= 50 * ns_per_ms);
    CHECK_FALSE(seen.unsampled_ns.contains(tid));
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
        const Moment begin = Moment::now();
        Collected collected(&open_timer_source, {.frequency = 199});
        REQUIRE(collected.error() == "");
        const SampleCount& samples = collected.count_mine();
        const CpuLog log = work_until([&] { return samples >= 30 && host_ticks >= 10; });
        const Seen& seen = collected.finish();
        CHECK(seen.hits(my_tid()) >= 30);
        check_covered(seen, collected.facts(), my_tid(), begin, log);
    }
    ::setitimer(ITIMER_PROF, &off, nullptr);
    CHECK(host_ticks >= 10);
    struct sigaction now {};
    ::sigaction(SIGPROF, &before, &now);
    CHECK((now.sa_handler == &count_tick) == true);
}

TEST_CASE("a host that takes our signal while we run gets it, and we take another") {
    Collected collected(&open_timer_source, {.frequency = 199});
    REQUIRE(collected.error() == "");
    const SampleCount& samples = collected.count_mine();
    work_until([&] { return samples >= 10; });
    bool told = false;
    SUBCASE("it calls yield_signal() first: not one signal of ours reaches its handler") {
        handler::yield_signal(SIGPROF);
        told = true;
    }
    SUBCASE("it does not: the next drain notices") {}
    host_ticks = 0;
    const Moment taken = Moment::now();
    struct sigaction action {};
    action.sa_handler = &count_tick;
    struct sigaction ours {};
    ::sigaction(SIGPROF, &action, &ours);
    CHECK((ours.sa_flags & SA_SIGINFO) != 0);
    if (told) run_known_shares(50 * ns_per_ms);
    if (told) CHECK(host_ticks == 0);
    collected.rounds(3);
    host_ticks = 0;
    const std::uint64_t enough = samples + 30;
    const CpuLog log = work_until([&] { return samples >= enough; });
    CHECK(host_ticks == 0);
    const Seen& seen = collected.finish();
    CHECK(samples >= enough);
    check_covered(seen, collected.facts(), my_tid(), taken, log);
    ::signal(SIGPROF, SIG_DFL);
}

TEST_CASE("a host that takes our signal before the first drain keeps a timer for each thread") {
    std::atomic<bool> done{false};
    std::atomic<std::uint32_t> tid{0};
    std::thread host([&] {
        tid = my_tid();
        KnownShares work;
        while (!done) work.round();
    });
    while (tid == 0) std::this_thread::yield();
    auto source = open_timer_source({.frequency = 199});
    REQUIRE(source);
    REQUIRE((*source)->start());
    struct sigaction action {};
    action.sa_handler = &count_tick;
    ::sigaction(SIGPROF, &action, nullptr);
    Seen seen;
    const std::uint64_t most = Moment::of(tid).cpu_ns + most_cpu_ns;
    do {
        (*source)->drain(seen);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    } while (seen.hits(tid) < 10 && Moment::of(tid).cpu_ns < most);
    const std::string note = (*source)->facts().note;
    CHECK(note.find("want of a timer") == std::string::npos);
    CHECK(seen.hits(tid) >= 10);
    done = true;
    host.join();
    source->reset();
    ::signal(SIGPROF, SIG_DFL);
}

TEST_CASE("above the tick's frequency samples stand for several periods") {
    const Moment begin = Moment::now();
    Collected collected(&open_timer_source, {.frequency = 10'000}, std::chrono::milliseconds(10));
    REQUIRE(collected.error() == "");
    const SampleCount& samples = collected.count_mine();
    const CpuLog log = work_until([&] { return samples >= 60; });
    const Seen& seen = collected.finish();
    CHECK(seen.hits(my_tid()) >= 60);
    check_covered(seen, collected.facts(), my_tid(), begin, log);
    CHECK(collected.facts().note.find("more time") != std::string::npos);
}

TEST_CASE("a source can be stopped and started, and a second one opened after it") {
    for (int i = 0; i < 2; ++i) {
        auto source = open_timer_source({.frequency = 199});
        REQUIRE(source);
        Seen seen;
        std::atomic<bool> done{false};
        std::atomic<std::uint32_t> tid{0};
        CpuLog log;
        std::thread host([&] {
            log.note();
            tid = my_tid();
            KnownShares work;
            for (; !done && log.used_ns() < 4 * most_cpu_ns; log.note()) work.round();
        });
        while (tid == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        const auto wait = [&tid](std::uint64_t cpu_ns, const auto& enough) {
            const std::uint64_t until = Moment::of(tid).cpu_ns + cpu_ns;
            while (!enough() && Moment::of(tid).cpu_ns < until)
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
        };
        std::vector<Sampled> turns;
        for (int turn = 0; turn < 2; ++turn) {
            const auto drained_before = seen.hits(tid);
            Sampled when;
            when.before = Moment::of(tid);
            REQUIRE((*source)->start());
            when.from = Moment::of(tid);
            wait(most_cpu_ns, [&] {
                (*source)->drain(seen);
                return seen.hits(tid) >= drained_before + 20;
            });
            (*source)->stop();
            when.until = Moment::of(tid);
            turns.push_back(when);
            (*source)->drain(seen);
            CHECK(seen.hits(tid) >= drained_before + 20);
            const auto drained = seen.samples.size();
            wait(50 * ns_per_ms, [] { return false; });
            (*source)->drain(seen);
            CHECK(seen.samples.size() == drained);
        }
        done = true;
        host.join();
        for (const Sampled& turn : turns) check_covered(seen, (*source)->facts(), tid, turn, log);
    }
}

TEST_CASE("exec is not killed by a signal on its way") {
    for (int i = 0; i < 20; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            Collected collected(&open_timer_source, {.frequency = 4000}, std::chrono::milliseconds(5));
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
