#include "pool.hpp"

#include <pthread.h>

#include <string>
#include <utility>

namespace shop {

Pool::Pool(unsigned threads) {
    for (unsigned number = 0; number < threads; ++number) threads_.emplace_back([this, number] { run_jobs(number); });
}

Pool::~Pool() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_) thread.join();
}

void Pool::submit(Job job) {
    {
        const std::lock_guard lock(mutex_);
        jobs_.push(std::move(job));
    }
    changed_.notify_one();
}

void Pool::run_jobs(unsigned number) {
    ::pthread_setname_np(::pthread_self(), ("worker-" + std::to_string(number)).c_str());
    for (Job job; next_job(job);) job();
}

bool Pool::next_job(Job& job) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closing_ || !jobs_.empty(); });
    if (jobs_.empty()) return false;
    job = std::move(jobs_.front());
    jobs_.pop();
    return true;
}

}  // namespace shop
