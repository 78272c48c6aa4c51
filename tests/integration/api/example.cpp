// FlameProbe from C++: starts, hands labelled work to a pool of threads, and stops.
// Build: c++ -std=c++20 example.cpp $(pkg-config --cflags --libs flameprobe)      Run: ./a.out RESULT
#include <condition_variable>
#include <cstdio>
#include <ctime>
#include <deque>
#include <flameprobe/flameprobe.hpp>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

void work(double seconds) {
    const auto now = [] {
        timespec time{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
    };
    for (const double end = now() + seconds; now() < end;) {
    }
}

/// Runs each task in the scopes that were open where it was given.
class Pool {
public:
    Pool() {
        for (auto& thread : threads_) thread = std::thread([this] { serve(); });
    }
    ~Pool() {
        {
            const std::lock_guard lock(mutex_);
            ended_ = true;
        }
        changed_.notify_all();
        for (auto& thread : threads_) thread.join();
    }
    void give(std::function<void()> task) {
        const std::lock_guard lock(mutex_);
        tasks_.push_back({FlameProbe::ScopeContext::capture(), std::move(task)});
        changed_.notify_one();
    }

private:
    struct Task {
        FlameProbe::ScopeContext context;
        std::function<void()> run;
    };
    void serve() {
        for (;;) {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return ended_ || !tasks_.empty(); });
            if (tasks_.empty()) return;
            const Task task = std::move(tasks_.front());
            tasks_.pop_front();
            lock.unlock();
            FlameProbe::Scope scopes{task.context};
            task.run();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Task> tasks_;
    bool ended_ = false;
    std::vector<std::thread> threads_{2};
};

void requests(Pool& pool) {
    for (const std::string tenant : {"acme", "globex"}) {
        FlameProbe::Scope request{"request"};
        FlameProbe::Scope of{FlameProbe::intern("tenant", tenant)};
        pool.give([] {
            FlameProbe::Scope phase{"in the pool"};
            work(0.3);
        });
    }
}

}  // namespace

int main(int argc, char** argv) {
    FlameProbe::Options options;
    options.frequency = 999;
    options.output = argc > 1 ? argv[1] : "example";
    options.format = "folded";
    if (const auto started = FlameProbe::start(options); !started) {
        std::fprintf(stderr, "start: %s\n", started.message());
        return 1;
    }
    if (const auto again = FlameProbe::start(options); again || again.code() != FLAMEPROBE_RUNNING) return 2;
    {
        Pool pool;
        requests(pool);
        work(0.1);
    }
    if (const auto dumped = FlameProbe::dump(); !dumped) {
        std::fprintf(stderr, "dump: %s\n", dumped.message());
        return 3;
    }
    if (const auto stopped = FlameProbe::stop(); !stopped) {
        std::fprintf(stderr, "stop: %s\n", stopped.message());
        return 4;
    }
    return FlameProbe::is_running() ? 5 : 0;
}
