// fibers-boost context|fiber SECONDS: two coroutines of Boost's that take turns, each with job() above work().
#include <time.h>

#include <boost/context/fiber.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace {

double seconds = 0;
volatile unsigned long sink = 0;

bool goes_on() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9 < seconds;
}

[[gnu::noinline]] void work() {
    for (unsigned long i = 0; i < 1'000'000; ++i) sink = sink + i * i;
}
[[gnu::noinline]] void job() {
    work();
    sink = sink + 1;
}

void by_context() {
    boost::context::fiber other{[](boost::context::fiber&& back) {
        while (goes_on()) {
            job();
            back = std::move(back).resume();
        }
        return std::move(back);
    }};
    while (other) other = std::move(other).resume();
}

void by_fiber() {
    const auto body = [] {
        while (goes_on()) {
            job();
            boost::this_fiber::yield();
        }
    };
    boost::fibers::fiber first(body), second(body);
    first.join();
    second.join();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    seconds = std::atof(argv[2]);
    std::string_view(argv[1]) == "context" ? by_context() : by_fiber();
}
