// Each call of an allocator, and each kind of lock, in a function of its own, and what that function has asked for, or
// waited, by its own account: `truths allocations` says "FUNCTION BYTES CALLS", `truths locks SECONDS` "FUNCTION
// NANOSECONDS WAITS". Time in a run queue is no waiting time; /proc/thread-self/schedstat has it.
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <list>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <string>
#include <thread>

#define KEPT __attribute__((noinline, noclone))

namespace {

void rest(long ns) {
    const timespec span{0, ns};
    ::nanosleep(&span, nullptr);
}

// --- allocations

void* volatile kept;
constexpr std::size_t calls = 30000, bytes = 4000;

void give_back(void* memory) {
    kept = memory;
    std::free(memory);
}

struct alignas(64) Wide {
    char text[4032];
};
struct Plain {
    char text[4000];
};

/// With pauses: a program that allocates faster than the collector has a CPU has fewer samples, which is said.
#define SITE(name, ...)                                    \
    KEPT void name() {                                     \
        for (std::size_t turn = 0; turn < calls; ++turn) { \
            if (turn % 1000 == 0) rest(5'000'000);         \
            __VA_ARGS__                                    \
        }                                                  \
    }
SITE(by_malloc, { give_back(std::malloc(bytes)); })
SITE(by_calloc, { give_back(std::calloc(8, bytes / 8)); })
SITE(by_realloc_of_nothing, { give_back(std::realloc(nullptr, bytes)); })
SITE(by_realloc_up, { give_back(std::realloc(std::malloc(0), bytes)); })
SITE(by_realloc_down, {
    void* volatile large = std::malloc(bytes);
    give_back(std::realloc(large, bytes / 2));
})
SITE(by_reallocarray, { give_back(::reallocarray(nullptr, 8, bytes / 8)); })
SITE(by_posix_memalign, {
    void* memory = nullptr;
    if (::posix_memalign(&memory, 64, bytes) == 0) give_back(memory);
})
SITE(by_aligned_alloc, { give_back(std::aligned_alloc(32, bytes)); })
SITE(by_memalign, { give_back(::memalign(64, bytes)); })
SITE(by_valloc, { give_back(::valloc(bytes)); })
SITE(by_pvalloc, { give_back(::pvalloc(4096)); })
SITE(by_strdup, {
    static const std::string text(bytes - 1, 'x');
    give_back(::strdup(text.c_str()));
})
SITE(by_new, {
    kept = ::operator new(bytes);
    ::operator delete(kept);
})
SITE(by_new_nothrow, {
    kept = ::operator new(bytes, std::nothrow);
    ::operator delete(kept, std::nothrow);
})
SITE(by_new_of_object, {
    auto* const object = new Plain;
    kept = object;
    delete object;
})
SITE(by_new_array, {
    kept = ::operator new[](bytes);
    ::operator delete[](kept);
})
SITE(by_new_aligned, {
    kept = ::operator new (bytes, std::align_val_t{64});
    ::operator delete (kept, std::align_val_t{64});
})
SITE(by_new_of_aligned_object, {
    auto* const object = new Wide;
    kept = object;
    delete object;
})

void allocations() {
    struct Site {
        const char* name;
        void (*run)();
        std::size_t each, times;
    };
#define ROW(name, each, times) \
    Site { #name, name, each, times }
    for (const Site& site :
         {ROW(by_malloc, bytes, 1), ROW(by_calloc, bytes, 1), ROW(by_realloc_of_nothing, bytes, 1),
          ROW(by_realloc_up, bytes, 2), ROW(by_realloc_down, bytes + bytes / 2, 2), ROW(by_reallocarray, bytes, 1),
          ROW(by_posix_memalign, bytes, 1), ROW(by_aligned_alloc, bytes, 1), ROW(by_memalign, bytes, 1),
          ROW(by_valloc, bytes, 1), ROW(by_pvalloc, 4096, 1), ROW(by_strdup, bytes, 1), ROW(by_new, bytes, 1),
          ROW(by_new_nothrow, bytes, 1), ROW(by_new_of_object, bytes, 1), ROW(by_new_array, bytes, 1),
          ROW(by_new_aligned, bytes, 1), ROW(by_new_of_aligned_object, sizeof(Wide), 1)}) {
        site.run();
        std::printf("%s %zu %zu\n", site.name, site.each * calls, calls * site.times);
    }
}

// --- locks

std::atomic<bool> over{false};
std::list<std::thread> threads;

long long clock_ns(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}
/// How long the calling thread has wanted a CPU and had none.
long long queued_ns() {
    static thread_local const int file = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    char text[128] = "";
    long long cpu = 0, queued = 0;
    if (::pread(file, text, sizeof text - 1, 0) > 0) std::sscanf(text, "%lld %lld", &cpu, &queued);
    return queued;
}

struct Account {
    std::string name;
    std::atomic<long long> ns{0}, waits{0};

    void count(void (*wait)()) {
        const long long queued = queued_ns(), cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID),
                        begin = clock_ns(CLOCK_MONOTONIC);
        wait();
        const long long all = clock_ns(CLOCK_MONOTONIC) - begin, ran = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
        ns += all - ran - (queued_ns() - queued);
        ++waits;
    }
};
std::list<Account> accounts;
Account sleeps;

KEPT void short_sleep() {
    rest(100'000);
    asm volatile("" ::: "memory");
}

void start(const std::string& name, std::function<void()> run) {
    threads.emplace_back([name, run = std::move(run)] {
        ::prctl(PR_SET_NAME, name.substr(0, 15).c_str());
        while (!over) run();
    });
}

/// One thread holds again and again; the other waits for it, in a function with the kind's name, and sleeps a little.
void pair(const std::string& name, std::function<void()> hold, void (*wait)(), std::function<void()> give_back) {
    Account* const account = &accounts.emplace_back();
    account->name = name;
    start("h-" + name, [hold = std::move(hold)] { hold(), rest(400'000); });
    start(name, [=, give_back = std::move(give_back)] {
        account->count(wait);
        give_back();
        sleeps.count(short_sleep);
    });
}

pthread_mutex_t made(int type, bool robust, int protocol, bool shared) {
    pthread_mutexattr_t attributes;
    ::pthread_mutexattr_init(&attributes);
    ::pthread_mutexattr_settype(&attributes, type);
    if (robust) ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    ::pthread_mutexattr_setprotocol(&attributes, protocol);
    if (shared) ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_t mutex;
    ::pthread_mutex_init(&mutex, &attributes);
    return mutex;
}

constexpr long held_ns = 3'000'000;

#define LOCKABLE(name, lock, unlock, take, back) \
    KEPT void wait_##name() {                    \
        take;                                    \
        asm volatile("" ::: "memory");           \
    }                                            \
    void pair_##name() {                         \
        pair(                                    \
            "wait_" #name,                       \
            [] {                                 \
                lock;                            \
                rest(held_ns);                   \
                unlock;                          \
            },                                   \
            wait_##name, [] { back; });          \
    }
#define MUTEX(name, type, robust, protocol, shared)                                            \
    pthread_mutex_t mutex_##name = made(type, robust, protocol, shared);                       \
    LOCKABLE(name, ::pthread_mutex_lock(&mutex_##name), ::pthread_mutex_unlock(&mutex_##name), \
             ::pthread_mutex_lock(&mutex_##name), ::pthread_mutex_unlock(&mutex_##name))
MUTEX(normal, PTHREAD_MUTEX_NORMAL, false, PTHREAD_PRIO_NONE, false)
MUTEX(recursive, PTHREAD_MUTEX_RECURSIVE, false, PTHREAD_PRIO_NONE, false)
MUTEX(errorcheck, PTHREAD_MUTEX_ERRORCHECK, false, PTHREAD_PRIO_NONE, false)
MUTEX(adaptive, PTHREAD_MUTEX_ADAPTIVE_NP, false, PTHREAD_PRIO_NONE, false)
MUTEX(robust, PTHREAD_MUTEX_NORMAL, true, PTHREAD_PRIO_NONE, false)
MUTEX(inherit, PTHREAD_MUTEX_NORMAL, false, PTHREAD_PRIO_INHERIT, false)
MUTEX(pshared, PTHREAD_MUTEX_NORMAL, false, PTHREAD_PRIO_NONE, true)

pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER, list = PTHREAD_RWLOCK_INITIALIZER;
LOCKABLE(rwlock_read, ::pthread_rwlock_wrlock(&table), ::pthread_rwlock_unlock(&table), ::pthread_rwlock_rdlock(&table),
         ::pthread_rwlock_unlock(&table))
LOCKABLE(rwlock_write, ::pthread_rwlock_rdlock(&list), ::pthread_rwlock_unlock(&list), ::pthread_rwlock_wrlock(&list),
         ::pthread_rwlock_unlock(&list))
mtx_t plain;
LOCKABLE(c11, ::mtx_lock(&plain), ::mtx_unlock(&plain), ::mtx_lock(&plain), ::mtx_unlock(&plain))
std::mutex standard;
LOCKABLE(std_mutex, standard.lock(), standard.unlock(), standard.lock(), standard.unlock())
std::timed_mutex timed;
LOCKABLE(std_timed, timed.lock(), timed.unlock(), while (!timed.try_lock_for(std::chrono::seconds(9))){},
         timed.unlock())
std::shared_mutex prices, names;
LOCKABLE(shared_read, prices.lock(), prices.unlock(), prices.lock_shared(), prices.unlock_shared())
LOCKABLE(shared_write, names.lock_shared(), names.unlock_shared(), names.lock(), names.unlock())
sem_t slots;
LOCKABLE(semaphore, , ::sem_post(&slots), while (::sem_wait(&slots) != 0){}, )

pthread_mutex_t of_condition = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
KEPT void wait_condition() {
    ::pthread_mutex_lock(&of_condition);
    ::pthread_cond_wait(&condition, &of_condition);
    ::pthread_mutex_unlock(&of_condition);
    asm volatile("" ::: "memory");
}
std::mutex of_queue;
std::condition_variable queue;
KEPT void wait_std_condition() {
    std::unique_lock lock(of_queue);
    queue.wait(lock);
    asm volatile("" ::: "memory");
}

void locks(unsigned seconds) {
    ::mtx_init(&plain, mtx_plain);
    ::sem_init(&slots, 0, 0);
    for (void (*const begin)() : {pair_normal, pair_recursive, pair_errorcheck, pair_adaptive, pair_robust,
                                  pair_inherit, pair_pshared, pair_rwlock_read, pair_rwlock_write, pair_c11,
                                  pair_std_mutex, pair_std_timed, pair_shared_read, pair_shared_write, pair_semaphore})
        begin();
    pair(
        "wait_condition", [] { rest(held_ns), ::pthread_cond_broadcast(&condition); }, wait_condition, [] {});
    pair(
        "wait_std_condition", [] { rest(held_ns), queue.notify_all(); }, wait_std_condition, [] {});
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    over = true;
    // Wakes the threads that still wait for the condition, the queue or the semaphore.
    for (int turn = 0; turn < 200; ++turn)
        rest(1'000'000), ::pthread_cond_broadcast(&condition), queue.notify_all(), ::sem_post(&slots);
    for (std::thread& thread : threads) thread.join();
    for (const Account& account : accounts)
        std::printf("%s %lld %lld\n", account.name.c_str(), account.ns.load(), account.waits.load());
    std::printf("short_sleep %lld %lld\n", sleeps.ns.load(), sleeps.waits.load());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "allocations") == 0) return allocations(), 0;
    if (argc == 3 && std::strcmp(argv[1], "locks") == 0) return locks(static_cast<unsigned>(std::atoi(argv[2]))), 0;
    return 2;
}
