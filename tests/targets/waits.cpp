// Waits in known ways, and says itself how long: `waits SECONDS` prints, for each thread, "THREAD wait_X NS" with
// the time that passed in that function, "THREAD late_X NS" with the part of it that the thread was in a run queue
// (woken, but without a CPU), "THREAD life NS" and "THREAD cpu NS".
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

std::uint64_t now(clockid_t clock = CLOCK_MONOTONIC) {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

/// How long the calling thread has been in run queues.
std::uint64_t run_delay() {
    thread_local const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    char text[128] = {};
    if (pread(file, text, sizeof text - 1, 0) <= 0) return 0;
    char* at = text;
    std::strtoull(at, &at, 10);
    return std::strtoull(at, nullptr, 10);
}

std::atomic<bool> over{false};
std::mutex printing, contended, waited_on;
std::condition_variable condition;
int pipe_ends[2], events;

#define KEPT __attribute__((noinline, noclone))
// So that no call becomes a jump, and the caller stays on the stack.
#define STAY asm volatile("" ::: "memory")

KEPT void wait_nanosleep() {
    const timespec span{0, 3'000'000};
    nanosleep(&span, nullptr);
    STAY;
}
KEPT void wait_briefly() {
    const timespec span{0, 300'000};
    nanosleep(&span, nullptr);
    STAY;
}
KEPT void wait_poll() {
    poll(nullptr, 0, 2);
    STAY;
}
KEPT void wait_epoll() {
    epoll_event event;
    epoll_wait(events, &event, 1, 1);
    STAY;
}
KEPT void wait_read() {
    char byte;
    if (read(pipe_ends[0], &byte, 1) != 1) std::abort();
    STAY;
}
KEPT void wait_mutex() {
    contended.lock();
    STAY;
}
KEPT void wait_condition() {
    std::unique_lock lock(waited_on);
    condition.wait_for(lock, std::chrono::milliseconds(7));
    STAY;
}
KEPT void wait_join(std::thread& thread) {
    thread.join();
    STAY;
}
KEPT void burn(std::uint64_t ns) {
    for (const std::uint64_t end = now() + ns; now() < end;) STAY;
}

using Times = std::map<std::string, std::uint64_t>;

template <class Wait, class... Arguments>
void timed(Times& times, const char* name, Wait wait, Arguments&... arguments) {
    const std::uint64_t delay = run_delay(), begin = now();
    wait(arguments...);
    times[name] += now() - begin;
    times[std::string("late") + (name + 4)] += run_delay() - delay;
}

void report(const char* thread, Times times, std::uint64_t life, std::uint64_t cpu) {
    const std::lock_guard lock(printing);
    times["life"] = life;
    times["cpu"] = cpu;
    for (const auto& [what, ns] : times)
        std::printf("%s %s %llu\n", thread, what.c_str(), static_cast<unsigned long long>(ns));
}

std::thread begin(const char* name, std::function<void(Times&)> round) {
    return std::thread([name, round = std::move(round)] {
        const std::uint64_t born = now();
        pthread_setname_np(pthread_self(), name);
        Times times;
        while (!over) round(times);
        report(name, times, now() - born, now(CLOCK_THREAD_CPUTIME_ID));
    });
}

/// Two threads of one CPU that hand a byte to and fro: nothing but switches.
int storm(double seconds) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    int there[2], back[2];
    if (pipe(there) != 0 || pipe(back) != 0) return 1;
    std::thread echo([&] {
        for (char byte; read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1;) continue;
    });
    std::uint64_t rounds = 0;
    char byte = 0;
    for (const std::uint64_t end = now() + static_cast<std::uint64_t>(seconds * 1e9); now() < end; ++rounds)
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) return 1;
    close(there[1]);
    echo.join();
    std::printf("storm switches %llu\n", static_cast<unsigned long long>(2 * rounds));
    return 0;
}

/// Threads that wait from their first moment on, and are never woken; the main thread sleeps and wakes.
int idle(double seconds) {
    for (int i = 0; i < 4; ++i) {
        std::thread([] {
            for (;;) pause();
        }).detach();
        usleep(20'000);  // making the next maps memory, for which one that has just begun may have to wait
    }
    for (const std::uint64_t end = now() + static_cast<std::uint64_t>(seconds * 1e9); now() < end;) usleep(10'000);
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    const double seconds = count > 1 ? std::atof(arguments[1]) : 1;
    if (count > 2 && std::string(arguments[2]) == "storm") return storm(seconds);
    if (count > 2 && std::string(arguments[2]) == "idle") return idle(seconds);
    const std::uint64_t born = now();
    events = epoll_create1(EPOLL_CLOEXEC);
    if (events < 0 || pipe(pipe_ends) != 0) return 1;
    std::vector<std::thread> threads;
    threads.push_back(begin("mixed", [](Times& times) {
        timed(times, "wait_nanosleep", wait_nanosleep);
        timed(times, "wait_poll", wait_poll);
        timed(times, "wait_epoll", wait_epoll);
    }));
    threads.push_back(begin("brief", [](Times& times) {
        timed(times, "wait_briefly", wait_briefly);
        timed(times, "wait_poll", wait_poll);
        for (int i = 0; i < 10; ++i) timed(times, "wait_briefly", wait_briefly);
    }));
    threads.push_back(begin("reader", [](Times& times) { timed(times, "wait_read", wait_read); }));
    threads.push_back(begin("writer", [](Times& times) {
        timed(times, "wait_nanosleep", wait_nanosleep);
        if (write(pipe_ends[1], "x", 1) != 1) std::abort();
    }));
    threads.push_back(begin("holder", [](Times& times) {
        contended.lock();
        timed(times, "wait_nanosleep", wait_nanosleep);
        contended.unlock();
        timed(times, "wait_briefly", wait_briefly);
    }));
    threads.push_back(begin("locker", [](Times& times) {
        timed(times, "wait_mutex", wait_mutex);
        contended.unlock();
        timed(times, "wait_epoll", wait_epoll);
    }));
    threads.push_back(begin("waiter", [](Times& times) { timed(times, "wait_condition", wait_condition); }));
    threads.push_back(begin("worker", [](Times& times) {
        burn(2'000'000);
        timed(times, "wait_briefly", wait_briefly);
    }));
    std::thread timer([seconds] {
        pthread_setname_np(pthread_self(), "timer");
        usleep(static_cast<useconds_t>(seconds * 1e6));
        over = true;
    });
    Times times;
    timed(times, "wait_join", wait_join, timer);
    if (write(pipe_ends[1], "x", 1) != 1) return 1;  // the last thing that the reader reads
    for (auto& thread : threads) timed(times, "wait_join", wait_join, thread);
    report("waits", times, now() - born, now(CLOCK_THREAD_CPUTIME_ID));
}
