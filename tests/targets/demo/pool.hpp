#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

namespace shop {

/// A fixed number of threads that run jobs in the order they came. The destructor finishes what is queued.
class Pool {
public:
    using Job = std::function<void()>;

    explicit Pool(unsigned threads);
    ~Pool();
    void submit(Job job);

private:
    void run_jobs(unsigned number);
    bool next_job(Job& job);

    std::mutex mutex_;
    std::condition_variable changed_;
    std::queue<Job> jobs_;
    bool closing_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace shop
