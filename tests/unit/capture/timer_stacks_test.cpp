// Stacks that are small, and threads that may not call the kernel.
#include <doctest/doctest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "base/clock.hpp"
#include "capture/handler/handler.hpp"
#include "collected.hpp"
#include "cpu_log.hpp"
#include "known_shares.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

ucontext_t scheduler, coroutine;
volatile bool coroutine_done;

const SampleCount* coroutine_samples;

// Stays on its small stack nearly all of the time.
void coroutine_body() {
    const std::uint64_t enough = *coroutine_samples + 40;
    const std::uint64_t end = read_clock(CLOCK_THREAD_CPUTIME_ID) + most_cpu_ns;
    while (*coroutine_samples < enough && read_clock(CLOCK_THREAD_CPUTIME_ID) < end) {
        for (int i = 0; i < 200'000; ++i) asm volatile("" ::: "memory");
        ::swapcontext(&coroutine, &scheduler);
    }
    coroutine_done = true;
    ::swapcontext(&coroutine, &scheduler);
}

std::size_t page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

void run_on_small_stack(const SampleCount& samples) {
    coroutine_samples = &samples;
    const std::size_t page = page_bytes();
    auto* const memory = static_cast<char*>(::mmap(nullptr, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(memory + page, page, PROT_READ | PROT_WRITE);  // guarded on both sides
    coroutine_done = false;
    ::getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = memory + page;
    coroutine.uc_stack.ss_size = page;
    coroutine.uc_link = nullptr;
    ::makecontext(&coroutine, &coroutine_body, 0);
    while (!coroutine_done) ::swapcontext(&scheduler, &coroutine);
    ::munmap(memory, 3 * page);
}

}  // namespace

TEST_CASE("coroutines on guarded stacks of one page are sampled and do not crash") {
    Collected collected(&open_timer_source, {.frequency = 1000}, std::chrono::milliseconds(5));
    REQUIRE(collected.error() == "");
    std::uint32_t tid = 0;
    SUBCASE("in a thread that attached itself") {
        std::thread([&] {
            tid = my_tid();
            handler::attach_this_thread();
            run_on_small_stack(collected.count_mine());
        }).join();
    }
    SUBCASE("in a thread that the collector found, after its first sample") {
        std::thread([&] {
            tid = my_tid();
            const SampleCount& samples = collected.count_mine();
            work_until([&] { return samples >= 1; });
            run_on_small_stack(samples);
        }).join();
    }
    const Seen& seen = collected.finish();
    std::size_t small = 0;
    for (const auto& sample : seen.samples) small += sample.tid == tid && sample.stack.size() < page_bytes() ? 1 : 0;
    CHECK(small > 20);
}

namespace {

constexpr std::size_t large_frame = 12 << 10;

const SampleCount* large_samples;
std::uint64_t large_since_ns;

// Works until there are 40 more samples, in a frame that is larger than a page of 4 KiB.
void work_in_large_frame() {
    volatile char room[large_frame];
    room[0] = 1;
    large_since_ns = monotonic_ns();
    const std::uint64_t enough = *large_samples + 40;
    work_until([enough] { return *large_samples >= enough; });
    asm volatile("" ::"r"(room) : "memory");
}

void large_coroutine_body() {
    work_in_large_frame();
    ::swapcontext(&coroutine, &scheduler);
}

void run_on_large_stack() {
    std::vector<std::byte> memory(256 << 10);
    ::getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = memory.data();
    coroutine.uc_stack.ss_size = memory.size();
    coroutine.uc_link = nullptr;
    ::makecontext(&coroutine, &large_coroutine_body, 0);
    ::swapcontext(&scheduler, &coroutine);
}

// As a container's filter: it refuses perf_event_open, and the profiler is not told of it.
bool enter_container_filter() {
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{std::size(code), code};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool mostly_large(const Seen& seen, std::uint32_t tid) {
    std::size_t large = 0, all = 0;
    for (const auto& sample : seen.samples) {
        if (sample.tid != tid || sample.time_ns < large_since_ns) continue;
        ++all;
        large += sample.stack.size() >= large_frame ? 1 : 0;
    }
    return large > 20 && large * 10 > all * 9;
}

}  // namespace

TEST_CASE("under a container's filter large stacks of coroutines are copied" * doctest::skip(under_tsan)) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (!enter_container_filter()) ::_exit(2);
        Collected collected(&open_timer_source, {.frequency = 1000}, std::chrono::milliseconds(5));
        std::atomic<std::uint32_t> tid{0};
        std::thread([&] {
            tid = my_tid();
            collected.rounds(2);
            large_samples = &collected.count_mine();
            run_on_large_stack();
        }).join();
        ::_exit(mostly_large(collected.finish(), tid) ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("under seccomp's strict mode the handler makes no call that kills" * doctest::skip(under_tsan)) {
    const pid_t child = ::fork();
    if (child == 0) {
        Collected collected(&open_timer_source, {.frequency = 1000}, std::chrono::milliseconds(5));
        std::atomic<std::uint32_t> tid{0};
        std::atomic<bool> sampled{false}, finished{false};
        std::thread strict([&] {
            const SampleCount& samples = collected.count_mine();
            tid = my_tid();
            work_until([&] { return samples >= 5; });
            ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
            const std::uint64_t enough = samples + 30;
            // Ten seconds or so: the thread may not ask for the time.
            for (std::uint64_t i = 0; i < 10'000 && samples < enough; ++i)
                for (std::uint64_t unit = 0; unit < 2'000'000; ++unit) asm volatile("" ::: "memory");
            sampled = samples >= enough;
            finished = true;
            ::syscall(SYS_exit, 0);
        });
        while (tid == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        wait_until_gone(tid);  // having finished, or killed
        strict.detach();
        collected.finish();
        ::_exit(sampled && finished ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}
