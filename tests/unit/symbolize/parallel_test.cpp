#include "symbolize/parallel.hpp"

#include <doctest/doctest.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

using namespace flameprobe;

namespace {

/// What threads get that ask for nothing, as a host with many threads sets it.
class SmallStacks {
public:
    SmallStacks() {
        pthread_getattr_default_np(&before_);
        pthread_attr_t small;
        pthread_attr_init(&small);
        pthread_attr_setstacksize(&small, 64 << 10);
        pthread_setattr_default_np(&small);
        pthread_attr_destroy(&small);
    }
    ~SmallStacks() {
        pthread_setattr_default_np(&before_);
        pthread_attr_destroy(&before_);
    }
    SmallStacks(const SmallStacks&) = delete;
    SmallStacks& operator=(const SmallStacks&) = delete;

private:
    pthread_attr_t before_;
};

__attribute__((noinline)) void use_stack() {
    std::array<char, std::size_t{192} << 10> bytes;
    volatile char* const page = bytes.data();
    for (std::size_t at = 0; at < bytes.size(); at += 4096) page[at] = 1;
}

}  // namespace

TEST_CASE("threads that help have a stack of their own size, whatever the host's have") {
    constexpr unsigned workers = 4;
    const SmallStacks small;
    std::atomic<unsigned> begun = 0;
    run_parallel(workers, workers, [&](std::size_t) {
        use_stack();
        ++begun;
        // Each thread takes one.
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (begun < workers && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    });
    CHECK(begun == workers);
}
