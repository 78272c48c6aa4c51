#include "symbolize/parallel.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <vector>

#include "base/own_threads.hpp"

namespace flameprobe {

namespace {

struct Loop {
    const std::function<void(std::size_t)>& work;
    std::size_t count;
    std::atomic<std::size_t> next = 0;  // relaxed: only hands out numbers; joining publishes the results
    std::mutex mutex;
    std::exception_ptr failure;

    void run() {
        for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
            try {
                work(i);
            } catch (...) {
                const std::lock_guard lock(mutex);
                if (!failure) failure = std::current_exception();
            }
        }
    }
};

// Without memory for its storage the other threads do this one's part.
void* run_loop(void* loop) {
    if (allocate_thread_storage()) static_cast<Loop*>(loop)->run();
    return nullptr;
}

}  // namespace

unsigned allowed_cpus() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;  // more than 1,024 CPUs
    return static_cast<unsigned>(std::max(CPU_COUNT(&set), 1));
}

void run_parallel(unsigned workers, std::size_t count, const std::function<void(std::size_t)>& work) {
    Loop loop{work, count, {}, {}, {}};
    std::vector<pthread_t> threads;
    const std::size_t wanted = std::min<std::size_t>(workers, count);
    threads.reserve(wanted);
    {
        const AllSignalsBlocked blocked;
        const OwnThreadAttributes attributes;
        for (std::size_t i = 1; i < wanted; ++i) {
            pthread_t thread{};
            if (pthread_create(&thread, attributes.get(), run_loop, &loop) != 0) break;
            threads.push_back(thread);
        }
    }
    loop.run();
    for (const pthread_t thread : threads) pthread_join(thread, nullptr);
    if (loop.failure) std::rethrow_exception(loop.failure);
}

}  // namespace flameprobe
