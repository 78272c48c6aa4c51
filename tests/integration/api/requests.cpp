// A server whose slow requests are slow by construction: requests KIND SECONDS. Two workers take requests of some 2 ms
// each, most of them waiting; one of a hundred also meets what KIND says: a lock that another thread holds, a loop, or
// a slow peer, for a tenth of a second. Some fail. Prints how long each took by its own clock: "slow" or "usual", and
// nanoseconds. Built without the library.
#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "flameprobe/request.hpp"

namespace {

struct Taken {
    bool slow;
    std::uint64_t ns;
};

std::uint64_t now_ns(clockid_t clock = CLOCK_MONOTONIC) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

void wait_ns(std::uint64_t ns) {
    const timespec pause{0, static_cast<long>(ns)};
    nanosleep(&pause, nullptr);
}

std::mutex big;
sem_t asked, held;
int peer[2];
volatile std::uint64_t sink;
std::atomic<bool> ending{false};
constexpr std::uint64_t slow_ns = 100'000'000;

[[gnu::noinline]] void compute(std::uint64_t cpu_ns) {
    const std::uint64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
    while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        for (int i = 0; i < 2000; ++i) sink = sink + 1;
}

[[gnu::noinline]] void render_page() {
    compute(400'000);
    wait_ns(1'500'000);
    sink = sink + 1;
}
[[gnu::noinline]] void rebuild() {
    const std::lock_guard<std::mutex> lock(big);
    sem_post(&held);
    wait_ns(slow_ns);
    sink = sink + 1;
}
[[gnu::noinline]] void look_up_in_big() {
    sem_post(&asked);
    sem_wait(&held);
    const std::lock_guard<std::mutex> lock(big);
    sink = sink + 1;
}
[[gnu::noinline]] void parse_large() {
    compute(slow_ns);
    sink = sink + 1;
}
[[gnu::noinline]] void ask_peer() {
    char byte = 'x';
    if (write(peer[0], &byte, 1) != 1 || read(peer[0], &byte, 1) != 1) std::abort();
    sink = sink + 1;
}

void reindexer() {
    pthread_setname_np(pthread_self(), "reindexer");
    for (;;) {
        sem_wait(&asked);
        if (ending) return;
        rebuild();
    }
}

void peer_thread() {
    pthread_setname_np(pthread_self(), "peer");
    for (char byte; read(peer[1], &byte, 1) == 1;) {
        wait_ns(slow_ns);
        if (write(peer[1], &byte, 1) != 1) return;
    }
}

void serve_one(const char* kind, bool slow, bool fails) {
    FlameProbe::Request request{"checkout"};
    render_page();
    if (slow && std::strcmp(kind, "lock") == 0) look_up_in_big();
    if (slow && std::strcmp(kind, "cpu") == 0) parse_large();
    if (slow && std::strcmp(kind, "peer") == 0) ask_peer();
    if (fails) request.failed();
}

void serve(const char* kind, double seconds, unsigned offset, std::vector<Taken>& taken) {
    pthread_setname_np(pthread_self(), "worker");
    const std::uint64_t end = now_ns() + static_cast<std::uint64_t>(seconds * 1e9);
    for (unsigned i = offset; now_ns() < end; ++i) {
        const bool slow = i % 100 == 99;
        const std::uint64_t begin = now_ns();
        serve_one(kind, slow, i % 50 == 0);
        taken.push_back({slow, now_ns() - begin});
    }
}

/// Requests of a parent, of its child, and of the parent again; how many each had.
int fork_between() {
    const auto serve_some = [](int requests) {
        for (int i = 0; i < requests; ++i) serve_one("none", false, false);
    };
    serve_some(50);
    const pid_t child = fork();
    if (child == 0) {
        serve_some(70);
        std::puts("70");
        std::fflush(stdout);
        _exit(0);
    }
    serve_some(30);
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
    std::puts("80");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const char* const kind = argc > 1 ? argv[1] : "lock";
    const double seconds = argc > 2 ? std::strtod(argv[2], nullptr) : 2;
    if (std::strcmp(kind, "fork") == 0) return fork_between();
    if (sem_init(&asked, 0, 0) != 0 || sem_init(&held, 0, 0) != 0) return 1;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, peer) != 0) return 1;
    std::thread index(reindexer), far(peer_thread);
    std::vector<Taken> taken[2];
    std::thread one(serve, kind, seconds, 0, std::ref(taken[0])), two(serve, kind, seconds, 50, std::ref(taken[1]));
    one.join();
    two.join();
    ending = true;
    sem_post(&asked);
    shutdown(peer[0], SHUT_WR);
    index.join();
    far.join();
    for (const auto& all : taken)
        for (const Taken& request : all)
            std::printf("%s %llu\n", request.slow ? "slow" : "usual", static_cast<unsigned long long>(request.ns));
    return 0;
}
