// Several threads start (with one of two sets of options), stop, dump and ask at the same time, while others work and
// one forks. Every call gives one of the codes that it may give, none waits for ever, and at the end sampling works.
//
// usage: together PATH
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <flameprobe/flameprobe.hpp>
#include <initializer_list>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

std::string path;
std::atomic<bool> over{false};
std::atomic<unsigned> started{0}, stopped{0}, dumped{0};

bool one_of(const char* what, const FlameProbe::Result& result, std::initializer_list<flameprobe_code> allowed) {
    for (const auto code : allowed) {
        if (result.code() == code) return result.code() == FLAMEPROBE_OK;
    }
    std::fprintf(stderr, "%s: %d: %s\n", what, result.code(), result.message());
    std::_Exit(1);
}

FlameProbe::Options options(std::uint32_t frequency) {
    FlameProbe::Options wanted;
    wanted.output = path + "." + std::to_string(frequency);
    wanted.frequency = frequency;
    wanted.format = "folded";
    return wanted;
}

void call(unsigned seed) {
    std::minstd_rand random(seed);
    while (!over) {
        switch (random() % 4) {
            case 0:
                started += one_of("start", FlameProbe::start(options(random() % 2 == 0 ? 199 : 499)),
                                  {FLAMEPROBE_OK, FLAMEPROBE_RUNNING});
                break;
            case 1:
                stopped += one_of("stop", FlameProbe::stop(), {FLAMEPROBE_OK, FLAMEPROBE_NOT_RUNNING});
                break;
            case 2:
                // FLAMEPROBE_OUTPUT: there are no samples yet.
                dumped += one_of("dump", FlameProbe::dump(path + ".dump"),
                                 {FLAMEPROBE_OK, FLAMEPROBE_OUTPUT, FLAMEPROBE_NOT_RUNNING});
                break;
            default:
                static_cast<void>(FlameProbe::is_running());
        }
    }
}

__attribute__((noinline)) void work() {
    const auto end = std::clock() + CLOCKS_PER_SEC / 100;
    while (std::clock() < end) {
        for (int i = 0; i < 100'000; ++i) asm volatile("");  // the clock itself is the kernel's time
    }
    asm volatile("");
}

// The child of a thread that was in the middle of anything may start, too.
void fork_once() {
    const pid_t child = ::fork();
    if (child < 0) std::_Exit(3);
    if (child == 0) {
        static_cast<void>(FlameProbe::stop());
        one_of("start in a child", FlameProbe::start(options(99)), {FLAMEPROBE_OK, FLAMEPROBE_RUNNING});
        ::_exit(0);
    }
    int status = 0;
    if (::waitpid(child, &status, 0) != child || status != 0) {
        std::fprintf(stderr, "the child ended with status %d\n", status);
        std::_Exit(4);
    }
}

}  // namespace

int main(int, char** argv) {
    path = argv[1];
    std::vector<std::thread> threads;
    for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(call, seed);
    threads.emplace_back([] {
        while (!over) work();
    });
    threads.emplace_back([] {
        for (int i = 0; i < 10 && !over; ++i) fork_once();
    });
    std::this_thread::sleep_for(std::chrono::seconds(3));
    over = true;
    for (auto& thread : threads) thread.join();
    one_of("stop", FlameProbe::stop(), {FLAMEPROBE_OK, FLAMEPROBE_NOT_RUNNING});
    if (!one_of("start", FlameProbe::start(options(997)), {FLAMEPROBE_OK})) return 5;
    for (int i = 0; i < 20; ++i) work();
    std::printf("%u started, %u stopped, %u dumped\n", started.load(), stopped.load(), dumped.load());
}
