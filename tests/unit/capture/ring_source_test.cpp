#include <dirent.h>
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>

#include "base/clock.hpp"
#include "capture/perf_event.hpp"
#include "collected.hpp"
#include "cpu_facts.hpp"
#include "cpu_log.hpp"
#include "known_shares.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

// Puts the calling thread under a filter that refuses perf_event_open(attributes, refused_thread, ...).
std::atomic<std::uint32_t> refused_thread{0};
void refuse_one_thread() {
    constexpr std::uint32_t number = offsetof(seccomp_data, nr), thread = offsetof(seccomp_data, args[1]);
    sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 3),
                          BPF_STMT(BPF_LD | BPF_W | BPF_ABS, thread),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused_thread, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EIO),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{static_cast<unsigned short>(std::size(code)), code};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

}  // namespace

TEST_CASE("a thread that perf refuses is told, and the others are sampled" * doctest::skip(under_tsan)) {
    std::atomic<bool> go_on{true};
    std::atomic<std::uint32_t> refused{0}, other{0};
    const auto work = [&](std::atomic<std::uint32_t>& tid) {
        tid = my_tid();
        while (go_on) run_known_shares(10'000'000);
    };
    std::thread first(work, std::ref(refused)), second(work, std::ref(other));
    while (refused == 0 || other == 0) std::this_thread::yield();
    refused_thread = refused.load();
    Collected collected(
        [](const CaptureOptions& options) {
            refuse_one_thread();
            return open_ring_source(options);
        },
        {.frequency = 997});
    REQUIRE(collected.error() == "");
    while (read_clock(thread_cpu_clock(other)) < 300'000'000) ::usleep(10'000);
    go_on = false;
    first.join();
    second.join();
    const Seen& seen = collected.finish();
    CHECK(seen.hits(other) > 50);
    CHECK(seen.hits(refused) == 0);
    CHECK(collected.facts().earlier_threads == 2);
    CHECK(collected.facts().unattached_threads == 1);
    CHECK(collected.facts().note.find("1 thread is not sampled") != std::string::npos);
}

TEST_CASE("threads that nobody announced are sampled, one that was announced and found too only once") {
    for (const bool announced : {false, true}) {
        CAPTURE(announced);
        auto source = open_ring_source({.frequency = 997});
        REQUIRE(source);
        REQUIRE((*source)->start());
        Seen seen;
        std::atomic<std::uint32_t> tid{0};
        std::atomic<bool> go_on{false};
        std::uint64_t used = 0;
        std::thread thread([&] {
            tid = my_tid();
            while (!go_on) ::usleep(500);  // beside others it spun for 40 ms, before it was sampled
            run_known_shares(200'000'000);
            used = read_clock(CLOCK_THREAD_CPUTIME_ID);
        });
        while (tid == 0) std::this_thread::yield();
        (*source)->drain(seen);
        if (announced) (*source)->thread_begins({tid});
        go_on = true;
        std::atomic<bool> ended{false};
        std::thread joiner([&] {
            thread.join();
            ended = true;
        });
        while (!ended) {
            ::usleep(2000);
            (*source)->drain(seen);
        }
        joiner.join();
        wait_until_gone(tid);
        (*source)->stop();
        (*source)->drain(seen);
        const auto sampled = static_cast<double>(seen.accounted(tid));
        CHECK(sampled == doctest::Approx(static_cast<double>(used)).epsilon(0.15));
        CHECK(seen.ended[tid] == 1);
    }
}

TEST_CASE("a thread for which others stand has samples of its own when it has outlived that") {
    auto source = open_ring_source({.frequency = 997});
    REQUIRE(source);
    REQUIRE((*source)->start());
    Seen seen;
    const auto run = [&](std::uint64_t ns, std::optional<NewThreadShare> share) {
        std::atomic<std::uint32_t> tid{0};
        std::atomic<bool> go_on{false}, ended{false};
        std::thread thread([&] {
            tid = my_tid();
            while (!go_on) std::this_thread::yield();
            run_known_shares(ns);
            ended = true;
        });
        while (tid == 0) std::this_thread::yield();
        if (share) (*source)->thread_begins({tid, *share});
        go_on = true;
        while (!ended) {
            ::usleep(2000);
            (*source)->drain(seen);
        }
        thread.join();
        wait_until_gone(tid);
        (*source)->drain(seen);
        return tid.load();
    };
    constexpr NewThreadShare share{.reach_us = 300, .stands_for = 1};
    for (int n = 0; n < 9; ++n) run(1'000'000, share);  // the first ones are no brief threads
    const std::uint32_t not_met = run(200'000'000, std::nullopt), met = run(200'000'000, share);
    (*source)->stop();
    (*source)->drain(seen);
    for (const std::uint32_t tid : {not_met, met}) {
        const auto sampled = static_cast<double>(seen.accounted(tid));
        CHECK(sampled > 150e6);
        CHECK(sampled < 230e6);
    }
}

TEST_CASE("the ring of a brief thread holds what it gives in some milliseconds, at each frequency") {
    for (const std::uint64_t frequency : {99, 997, 4000}) {
        auto source = open_ring_source({.frequency = frequency, .stack_bytes = 8192});
        REQUIRE(source);
        REQUIRE((*source)->start());
        Seen seen;
        std::atomic<bool> go_on{true};
        std::vector<std::thread> threads;
        for (int n = 0; n < 10; ++n) {
            std::atomic<std::uint32_t> tid{0};
            threads.emplace_back([&] {
                tid = my_tid();
                while (go_on) ::usleep(1000);
            });
            while (tid == 0) std::this_thread::yield();
            (*source)->thread_begins({tid});
        }
        (*source)->drain(seen);
        CAPTURE(frequency);
        // An ordinary user's rings have what the user's other programs leave of the locked memory.
        if (::geteuid() == 0) CHECK((*source)->facts().fill_ns >= 3'000'000);
        go_on = false;
        for (auto& thread : threads) thread.join();
        (*source)->stop();
    }
}

TEST_CASE("rings see known shares, and samples x period are the thread's CPU time") {
    Collected collected(&open_ring_source, {.frequency = 997});
    REQUIRE(collected.error() == "");
    const std::uint64_t begin = read_clock(CLOCK_THREAD_CPUTIME_ID);
    run_known_shares(1'500'000'000);
    const std::uint64_t used = read_clock(CLOCK_THREAD_CPUTIME_ID) - begin;
    const Seen& seen = collected.finish();

    std::array<double, 4> hits{};
    double all = 0;
    for (const auto& sample : seen.samples) {
        const int share = known_share_of(sample.registers.pc());
        if (sample.tid != my_tid() || share < 0) continue;
        hits[static_cast<std::size_t>(share)] += 1;
        all += 1;
    }
    REQUIRE(all > 500);
    for (std::size_t i = 0; i < hits.size(); ++i) {
        const double p = known_shares[i] / 100.0;
        CAPTURE(i);
        CHECK(std::abs(hits[i] / all - p) < 5 * std::sqrt(p * (1 - p) / all));
    }
    const auto sampled = static_cast<double>(seen.accounted(my_tid()));
    CHECK(sampled == doctest::Approx(static_cast<double>(used)).epsilon(0.1));
}

TEST_CASE("no sample stands for those before it that found no room") {
    for (const std::uint64_t frequency : {499, 997}) {
        CAPTURE(frequency);
        auto source = open_ring_source({.frequency = frequency});
        REQUIRE(source);
        REQUIRE((*source)->start());
        Seen seen;
        run_known_shares(500'000'000);  // far more than the ring holds
        (*source)->drain(seen);
        run_known_shares(20'000'000);
        (*source)->stop();
        (*source)->drain(seen);
        std::uint64_t most = 0;
        for (const auto& sample : seen.samples) most = std::max(most, sample.weight);
        CHECK(most < 100'000'000);
        CHECK(seen.unsampled_ns[my_tid()] > 200'000'000);
        CHECK(static_cast<double>(seen.accounted(my_tid())) == doctest::Approx(520e6).epsilon(0.15));
    }
}

TEST_CASE("what found no room until sampling stops is told as lost, once") {
    auto attributes = make_attributes({});
    REQUIRE(attributes);
    if (const auto event = open_event(*attributes, my_tid(), -1); !event || attributes->read_format == 0) {
        MESSAGE("skipped: the kernel counts no lost records of an event (before Linux 6.0)");
        return;
    }
    auto source = open_ring_source({.frequency = 997});
    REQUIRE(source);
    Seen seen;
    for (const double expected_ns : {500e6, 1000e6}) {
        CAPTURE(expected_ns);
        REQUIRE((*source)->start());
        run_known_shares(500'000'000);  // far more than the ring holds
        (*source)->stop();
        (*source)->drain(seen);
        (*source)->drain(seen);
        CHECK(static_cast<double>(seen.unsampled_ns[my_tid()]) > expected_ns * 0.4);
        CHECK(static_cast<double>(seen.accounted(my_tid())) == doctest::Approx(expected_ns).epsilon(0.15));
    }
}

TEST_CASE("threads older and younger than the source are sampled, and the collector is not") {
    std::atomic<bool> go_on{true};
    std::atomic<std::uint32_t> older{0}, younger{0};
    const auto work = [&](std::atomic<std::uint32_t>& tid) {
        tid = my_tid();
        while (go_on) run_known_shares(10'000'000);
    };
    std::thread first(work, std::ref(older));
    while (older == 0) std::this_thread::yield();
    Collected collected(&open_ring_source, {.frequency = 997});
    REQUIRE(collected.error() == "");
    std::thread second(work, std::ref(younger));
    const auto used = [](std::uint32_t tid) { return tid == 0 ? 0 : read_clock(thread_cpu_clock(tid)); };
    while (used(younger) < 300'000'000 || used(older) < 300'000'000) ::usleep(10'000);
    go_on = false;
    first.join();
    second.join();
    const Seen& seen = collected.finish();
    CHECK(seen.hits(older) > 50);
    CHECK(seen.hits(younger) > 50);
    std::size_t others = 0;
    for (const auto& sample : seen.samples) {
        others += sample.tid != older && sample.tid != younger && sample.tid != my_tid() ? 1 : 0;
    }
    CHECK(others == 0);
}

TEST_CASE("code that is mapped while sampling is reported and sampled") {
    Collected collected(&open_ring_source, {.frequency = 997});
    REQUIRE(collected.error() == "");
    // A spin loop in memory of its own.
    constexpr std::size_t code_bytes = sizeof test::count_down;
    auto* memory =
        static_cast<char*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memcpy(memory, test::count_down.data(), code_bytes);
    __builtin___clear_cache(memory, memory + code_bytes);
    // mprotect is no mmap: the kernel tells of executable memory in either case (perf_event_mmap in mprotect_fixup).
    REQUIRE(::mprotect(memory, 4096, PROT_READ | PROT_EXEC) == 0);
    reinterpret_cast<void (*)(std::uint64_t)>(memory)(1'500'000'000);
    const Seen& seen = collected.finish();
    const auto at = reinterpret_cast<std::uint64_t>(memory);
    std::size_t hits = 0;
    for (const auto& sample : seen.samples)
        hits += sample.registers.pc() >= at && sample.registers.pc() < at + code_bytes ? 1 : 0;
    CHECK(hits > 20);
    const bool told = std::any_of(seen.mappings.begin(), seen.mappings.end(),
                                  [&](auto& range) { return range.first <= at && at < range.second; });
    CHECK(told);
    ::munmap(memory, 4096);
}

TEST_CASE("rings with records of mappings only have no samples") {
    const auto execute = PROT_READ | PROT_EXEC, own = MAP_PRIVATE | MAP_ANONYMOUS;
    auto rare = open_ring_source({.frequency = 1});
    REQUIRE(rare);
    REQUIRE((*rare)->start());
    void* const page = ::mmap(nullptr, 4096, execute, own, -1, 0);  // of which the rings have a record
    REQUIRE(page != MAP_FAILED);
    CHECK_FALSE((*rare)->has_samples());
    (*rare)->stop();
    ::munmap(page, 4096);

    auto source = open_ring_source({.frequency = 997});
    REQUIRE(source);
    CHECK_FALSE((*source)->has_samples());
    REQUIRE((*source)->start());
    run_known_shares(100'000'000);
    (*source)->stop();
    CHECK((*source)->has_samples());
    Seen seen;
    (*source)->drain(seen);
    CHECK(!seen.samples.empty());
    CHECK_FALSE((*source)->has_samples());
}

TEST_CASE("an event that is not known is refused with the names of those that are") {
    const auto refused = open_ring_source({.event = "cpu-clocks"});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find("'cpu-clocks'") != std::string::npos);
    CHECK(refused.error().message.find("task-clock") != std::string::npos);
}

TEST_CASE("every refusal has a reason and a way out") {
    for (const int error : {EACCES, EPERM, ENOSYS, ENOENT, EMFILE, EINVAL, EIO}) {
        CAPTURE(error);
        CHECK(explain_refusal(error).size() > 20);
    }
    CHECK(explain_refusal(E2BIG) == explain_refusal(EINVAL));  // attributes longer than an older kernel's
}
