// Hosts with many threads, with many system calls, and with low limits.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "../collected.hpp"
#include "../cpu_log.hpp"
#include "../known_shares.hpp"
#include "base/clock.hpp"
#include "base/proc.hpp"
#include "capture/handler/handler.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

constexpr std::uint64_t millisecond = 1'000'000;

std::size_t open_descriptors() {
    std::size_t count = 0;
    for (int fd = 0; fd < 256; ++fd) count += ::fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    return count;
}

// Runs `host` in a forked child, so that its limits are its own; gives its exit status, -1 if it was killed.
template <class Host>
int in_child(Host host) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(host());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::uint64_t create_and_join(unsigned threads, bool attached) {
    const std::uint64_t begin = monotonic_ns();
    for (unsigned i = 0; i < threads; ++i) {
        std::thread([attached] {
            if (attached) handler::attach_this_thread();
        }).join();
    }
    return (monotonic_ns() - begin) / threads;
}

}  // namespace

TEST_CASE("2,000 threads at once are all found, and so are their ends") {
    const int status = in_child([] {
        Collected collected(&open_timer_source, {.frequency = 99}, std::chrono::milliseconds(50));
        constexpr unsigned count = 2000;
        std::atomic<bool> go{false};
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < count; ++i) {
            threads.emplace_back([&go] {
                while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(20));
            });
        }
        collected.rounds(4);
        go = true;
        for (auto& thread : threads) thread.join();
        constexpr std::size_t main_and_collector = 2;
        while (TaskList().count() > main_and_collector) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        // Each drain looks at 512 sleeping threads.
        collected.rounds(12);
        const Seen& seen = collected.finish();
        if (seen.started.size() < count) return 1;
        if (seen.ended.size() < count) return 2;
        if (collected.facts().note.find("could not be sampled") != std::string::npos) return 3;
        return 0;
    });
    CHECK(status == 0);
}

TEST_CASE("10,000 short threads that attach themselves are all counted, one after the other") {
    const int status = in_child([] {
        Collected collected(&open_timer_source, {.frequency = 99}, std::chrono::milliseconds(50));
        const std::uint64_t bare = create_and_join(3000, false);
        const std::uint64_t attached = create_and_join(10'000, true);
        collected.rounds(45);
        const Seen& seen = collected.finish();
        std::printf("thread creation and join: %llu ns, attached %llu ns\n", static_cast<unsigned long long>(bare),
                    static_cast<unsigned long long>(attached));
        std::fflush(stdout);
        // A tid may be used again, and the threads that did not attach themselves are mostly too short to be found.
        std::uint64_t started = 0, ended = 0;
        for (const auto& [tid, times] : seen.started) started += static_cast<std::uint64_t>(times);
        for (const auto& [tid, times] : seen.ended) ended += static_cast<std::uint64_t>(times);
        if (started < 10'000) return 1;
        return ended + 5 >= started ? 0 : 2;
    });
    CHECK(status == 0);
}

TEST_CASE("a sampled host sees no EINTR from calls that block") {
    Collected collected(&open_timer_source, {.frequency = 4000}, std::chrono::milliseconds(10));
    REQUIRE(collected.error() == "");
    const int event = ::eventfd(0, EFD_NONBLOCK), epoll = ::epoll_create1(0);
    epoll_event interest{.events = EPOLLIN, .data = {}};
    REQUIRE(::epoll_ctl(epoll, EPOLL_CTL_ADD, event, &interest) == 0);
    std::atomic<unsigned> interrupted{0}, calls{0};
    std::vector<std::thread> threads;
    for (int kind = 0; kind < 3; ++kind) {
        threads.emplace_back([&, kind] {
            handler::attach_this_thread();
            const SampleCount& samples = collected.count_mine();
            unsigned own_calls = 0;
            while ((samples < 25 || own_calls < 100) && read_clock(CLOCK_THREAD_CPUTIME_ID) < most_cpu_ns) {
                for (int i = 0; i < 200'000; ++i) asm volatile("" ::: "memory");
                epoll_event got;
                pollfd polled{event, POLLIN, 0};
                const timespec nap{0, 500'000};
                const int result = kind == 0   ? ::epoll_wait(epoll, &got, 1, 1)
                                   : kind == 1 ? ::poll(&polled, 1, 1)
                                               : ::nanosleep(&nap, nullptr);
                ++own_calls;
                ++calls;
                if (result < 0 && errno == EINTR) ++interrupted;
            }
        });
    }
    for (auto& thread : threads) thread.join();
    const Seen& seen = collected.finish();
    ::close(event);
    ::close(epoll);
    CHECK(seen.samples.size() >= 3 * 25);
    CHECK(calls >= 3 * 100);
    CHECK(interrupted == 0);
}

TEST_CASE("without room for timers the source fails with a reason and the host goes on") {
    const int status = in_child([] {
        const rlimit none{0, 0};
        ::setrlimit(RLIMIT_SIGPENDING, &none);
        Collected collected(&open_timer_source, {.frequency = 99});
        if (collected.error().find("ulimit -i") == std::string::npos) return 1;
        run_known_shares(20 * millisecond);
        return 0;
    });
    CHECK(status == 0);
}

TEST_CASE("without address space the source fails with a reason") {
    const int status = in_child([] {
        const rlimit little{1 << 20, 1 << 20};  // less than is mapped: nothing more can be
        ::setrlimit(RLIMIT_AS, &little);
        const auto source = open_timer_source({.frequency = 20'000, .stack_bytes = 60 * 1024});
        if (source) return 2;
        return source.error().message.find("ulimit -v") != std::string::npos ? 0 : 1;
    });
    CHECK(status == 0);
}

TEST_CASE("no descriptor is left open") {
    const std::size_t before = open_descriptors();
    Collected collected(&open_timer_source, {.frequency = 99});
    collected.rounds(2);
    collected.finish();
    CHECK(open_descriptors() == before);
}
