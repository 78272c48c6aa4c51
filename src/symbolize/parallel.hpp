// A loop spread over threads.
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "base/own_threads.hpp"

namespace flameprobe {

/// CPUs this process may run on, at least 1.
inline unsigned allowed_cpus() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;  // more than 1,024 CPUs
    return static_cast<unsigned>(std::max(CPU_COUNT(&set), 1));
}

/// Calls `work(0)` ... `work(count - 1)`, each once, in any order, on up to `workers` threads, of which the caller is
/// one; returns when all are done. Without threads the caller does all calls. The first exception that `work` throws is
/// rethrown at the end. Not std::thread, whose stacks would take most of a small limit of memory.
inline void run_parallel(unsigned workers, std::size_t count, const std::function<void(std::size_t)>& work) {
    std::atomic<std::size_t> next = 0;  // relaxed: only hands out numbers; joining publishes the results
    std::mutex mutex;
    std::exception_ptr failure;
    std::function<void()> run = [&] {
        for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
            try {
                work(i);
            } catch (...) {
                const std::lock_guard lock(mutex);
                if (!failure) failure = std::current_exception();
            }
        }
    };
    const auto run_it = [](void* loop) -> void* {
        (*static_cast<std::function<void()>*>(loop))();
        return nullptr;
    };
    std::vector<pthread_t> threads;
    const std::size_t wanted = std::min<std::size_t>(workers, count);
    threads.reserve(wanted);
    const OwnThreadAttributes attributes;
    for (pthread_t thread{}; threads.size() + 1 < wanted; threads.push_back(thread))
        if (pthread_create(&thread, attributes.get(), run_it, &run) != 0) break;
    run();
    for (const pthread_t thread : threads) pthread_join(thread, nullptr);
    if (failure) std::rethrow_exception(failure);
}

}  // namespace flameprobe
