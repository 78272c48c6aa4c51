// Locks, and who holds them: `holders SECONDS`. Of each pair of threads "h-KIND" and "w-KIND" no other thread uses the
// lock, so each can wait for the other only. Threads "n-KIND" wait for what has no holder. "c-1" waits for a lock of
// "c-2", which waits for one of "c-3", and so on. `holders SECONDS circle N`: N threads "d-1", "d-2", ... that wait for
// each other for ever. `holders SECONDS crowd N`: N threads, ten for each lock, which each of them holds for 80 ms.
#include <pthread.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <list>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#define KEPT __attribute__((noinline, noclone))
#define STAY asm volatile("" ::: "memory")

namespace shop {
struct Catalog {
    static std::mutex mutex_;
};
std::mutex Catalog::mutex_;
std::shared_mutex prices;
}  // namespace shop

namespace {

using namespace std::chrono_literals;

std::atomic<bool> over{false};
auto& threads = *new std::list<std::thread>;  // those of a circle never end

/// A thread begins with the name of the one that makes it: so it has its own before anybody can look at it.
void start(const std::string& name, std::function<void()> run) {
    prctl(PR_SET_NAME, name.c_str());
    threads.emplace_back(std::move(run));
    prctl(PR_SET_NAME, "holders");
}

KEPT void sleep_inside(long ns) {
    const timespec span{0, ns};
    nanosleep(&span, nullptr);
    STAY;
}
KEPT void compute_inside() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    const long long end = now.tv_sec * 1'000'000'000LL + now.tv_nsec + 3'000'000;
    while (now.tv_sec * 1'000'000'000LL + now.tv_nsec < end) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    STAY;
}
KEPT void wait_outside() {
    sleep_inside(500'000);
    STAY;
}

/// `hold` takes the lock, works and gives it back; `want` takes it and gives it back.
void pair(const std::string& kind, std::function<void()> hold, std::function<void()> want) {
    start("h-" + kind, [hold = std::move(hold)] {
        while (!over) hold(), wait_outside();
    });
    start("w-" + kind, [want = std::move(want)] {
        while (!over) want(), sleep_inside(100'000);
    });
}

pthread_mutex_t* made(int type, bool robust, int protocol) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    if (robust) pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    auto* const mutex = new pthread_mutex_t;
    pthread_mutex_init(mutex, &attributes);
    return mutex;
}

void plain_pair(const std::string& kind, int type, bool robust = false, int protocol = PTHREAD_PRIO_NONE) {
    pthread_mutex_t* const mutex = made(type, robust, protocol);
    pair(
        kind,
        [mutex] {
            pthread_mutex_lock(mutex);
            sleep_inside(3'000'000);
            pthread_mutex_unlock(mutex);
        },
        [mutex] {
            pthread_mutex_lock(mutex);
            pthread_mutex_unlock(mutex);
        });
}

KEPT void restock() {
    const std::lock_guard lock(shop::Catalog::mutex_);
    sleep_inside(3'000'000);
}
KEPT void find() {
    const std::lock_guard lock(shop::Catalog::mutex_);
    STAY;
}

void begin_pairs() {
    pair("catalog", restock, find);
    static std::mutex computing;
    pair(
        "cpu",
        [] {
            const std::lock_guard lock(computing);
            compute_inside();
        },
        [] { const std::lock_guard lock(computing); });
    static std::timed_mutex timed;
    pair(
        "timed",
        [] {
            const std::lock_guard lock(timed);
            sleep_inside(3'000'000);
        },
        [] {
            if (timed.try_lock_for(10s)) timed.unlock();
        });
    pair(
        "reader",
        [] {
            const std::unique_lock lock(shop::prices);
            sleep_inside(3'000'000);
        },
        [] { const std::shared_lock lock(shop::prices); });
    static std::shared_mutex written;
    pair(
        "writer",
        [] {
            const std::unique_lock lock(written);
            sleep_inside(3'000'000);
        },
        [] { const std::unique_lock lock(written); });
    plain_pair("recursive", PTHREAD_MUTEX_RECURSIVE);
    plain_pair("checking", PTHREAD_MUTEX_ERRORCHECK);
    plain_pair("adaptive", PTHREAD_MUTEX_ADAPTIVE_NP);
    plain_pair("robust", PTHREAD_MUTEX_NORMAL, true);
    plain_pair("priority", PTHREAD_MUTEX_NORMAL, false, PTHREAD_PRIO_INHERIT);
}

/// What looks like a mutex of this process, and is not.
struct Own {
    std::uint32_t lock = 2, count = 0, owner = static_cast<std::uint32_t>(getpid()), users = 1, kind = 0, more[8] = {};
};

void begin_without_holder() {
    static std::mutex mutex;
    static std::condition_variable condition;
    start("n-condition", [] {
        std::unique_lock lock(mutex);
        while (!over) condition.wait_for(lock, 20ms);
    });
    static sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    start("n-semaphore", [] {
        while (!over) sem_wait(&semaphore);
    });
    static const int events = eventfd(0, 0);
    start("n-event", [] {
        std::uint64_t value = 0;
        while (!over && read(events, &value, sizeof value) > 0) continue;
    });
    static int ends[2];
    if (pipe(ends) != 0) abort();
    start("n-pipe", [] {
        char byte = 0;
        while (!over && read(ends[0], &byte, 1) == 1) continue;
    });
    static Own own;
    start("n-own", [] {
        const timespec most{0, 20'000'000};
        while (!over) syscall(SYS_futex, &own.lock, 128, 2, &most, nullptr, 0);
    });
    static pthread_mutex_t* const left = made(PTHREAD_MUTEX_NORMAL, false, PTHREAD_PRIO_NONE);
    std::thread([] { pthread_mutex_lock(left); }).join();  // and ends
    start("n-ended", [] {
        while (!over) {
            timespec until{};
            clock_gettime(CLOCK_REALTIME, &until);
            until.tv_nsec += 20'000'000;
            if (until.tv_nsec >= 1'000'000'000) ++until.tv_sec, until.tv_nsec -= 1'000'000'000;
            pthread_mutex_timedlock(left, &until);
        }
    });
    // Its word may name a thread of another process, or of another pid namespace.
    static pthread_mutex_t shared;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared, &attributes);
    for (const char* name : {"n-shared", "keeper"})
        start(name, [] {
            while (!over) {
                pthread_mutex_lock(&shared);
                sleep_inside(3'000'000);
                pthread_mutex_unlock(&shared);
                sleep_inside(100'000);
            }
        });
    static std::shared_mutex read_by_all;
    read_by_all.lock_shared();
    start("n-readers", [] {
        read_by_all.lock();
        read_by_all.unlock();
    });
    start("waker", [] {
        const std::uint64_t one = 1;
        while (!over) {
            sleep_inside(15'000'000);
            sem_post(&semaphore);
            if (write(events, &one, sizeof one) < 0 || write(ends[1], "x", 1) < 0) abort();
        }
        read_by_all.unlock_shared();
    });
}

void begin_chain() {
    static std::mutex of[5];  // of[i] is held by "c-i"
    static std::atomic<int> ready[5];
    for (int i = 4; i >= 1; --i)
        start("c-" + std::to_string(i), [i] {
            for (int round = 1; !over; ++round) {
                of[i].lock();
                ready[i] = round;
                if (i == 4) {
                    while (ready[1] < round && !over) sleep_inside(100'000);
                    sleep_inside(30'000'000);
                } else {
                    while (ready[i + 1] < round && !over) sleep_inside(100'000);
                    sleep_inside(1'000'000L * (4 - i));
                    const std::lock_guard next(of[i + 1]);
                }
                of[i].unlock();
                sleep_inside(5'000'000);
            }
        });
}

KEPT void take_for_ever(pthread_mutex_t* lock) {
    pthread_mutex_lock(lock);
    STAY;
}

void begin_circle(int count) {
    static std::vector<pthread_mutex_t*> locks;
    static std::atomic<int> ready{0};
    for (int i = 0; i < count; ++i) locks.push_back(made(PTHREAD_MUTEX_NORMAL, false, PTHREAD_PRIO_NONE));
    for (int i = 0; i < count; ++i)
        start("d-" + std::to_string(i + 1), [i, count] {
            pthread_mutex_lock(locks[static_cast<std::size_t>(i)]);
            for (++ready; ready < count;) sleep_inside(100'000);
            take_for_ever(locks[static_cast<std::size_t>((i + 1) % count)]);
        });
}

void begin_crowd(int count) {
    constexpr int of_a_lock = 10;
    static std::vector<std::mutex> locks(static_cast<std::size_t>(count / of_a_lock + 1));
    for (int i = 0; i < count; ++i)
        start("crowd", [i] {
            while (!over) {
                const std::lock_guard lock(locks[static_cast<std::size_t>(i / of_a_lock)]);
                if (!over) sleep_inside(80'000'000);
            }
        });
}

}  // namespace

int main(int argc, char** argv) {
    const auto seconds = static_cast<unsigned>(argc > 1 ? std::atoi(argv[1]) : 2);
    if (argc > 3 && std::strcmp(argv[2], "circle") == 0) {
        begin_circle(std::atoi(argv[3]));
        sleep(seconds);
        std::puts("over");
        std::exit(0);
    }
    if (argc > 3 && std::strcmp(argv[2], "crowd") == 0) {
        begin_crowd(std::atoi(argv[3]));
        sleep(seconds);
        over = true;
        for (std::thread& thread : threads) thread.join();
        return 0;
    }
    begin_pairs();
    begin_without_holder();
    begin_chain();
    sleep(seconds);
    over = true;
    for (std::thread& thread : threads) thread.join();
    std::puts("over");
}
