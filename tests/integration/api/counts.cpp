// Counts units of work in threads that live at once and one after the other, and in a forked child:
// counts [REQUESTS_EACH]. Prints what must be in the profile. Built without the library.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "flameprobe/count.hpp"

namespace {

volatile std::uint64_t sink;

void serve(std::uint64_t requests) {
    for (std::uint64_t i = 0; i < requests; ++i) {
        for (unsigned work = 0; work < 3000; ++work) sink = sink + work;
        FlameProbe::count("requests");
        FlameProbe::count("bytes", 1000);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t each = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 5000;
    constexpr unsigned at_once = 4, later = 8;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < at_once; ++i) threads.emplace_back(serve, each);
    for (auto& thread : threads) thread.join();
    for (unsigned i = 0; i < later; ++i) std::thread(serve, each).join();
    FlameProbe::count(FlameProbe::intern("made at run time"), 7);
    const std::uint64_t parent = each * (at_once + later);
    std::printf("%d %llu\n", getpid(), static_cast<unsigned long long>(parent));
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        serve(3 * each);
        std::printf("%d %llu\n", getpid(), static_cast<unsigned long long>(3 * each));
        std::fflush(stdout);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0 ? 0 : 1;
}
