// guards N: enters and leaves N scopes. plain SECONDS: the same function without them, for as much CPU time.
// Prints what it used. One scope in a thousand holds some work: where the CPU says that an empty one was interrupted,
// it may be past its end.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <flameprobe/scope.hpp>

namespace {

constexpr int work = 2000;

__attribute__((noinline)) void guarded(int rounds) {
    FlameProbe::Scope scope{"guarded"};
    for (int i = 0; i < rounds; ++i) asm volatile("");
}

__attribute__((noinline)) void plain(int rounds) {
    for (int i = 0; i < rounds; ++i) asm volatile("" : : "i"(1));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    if (std::strcmp(argv[1], "guards") == 0) {
        for (long left = std::atol(argv[2]); left > 0; --left) guarded(left % 1000 == 0 ? work : 0);
    } else {
        const auto end = static_cast<std::clock_t>(std::atof(argv[2]) * CLOCKS_PER_SEC);
        while (std::clock() < end) {
            for (int i = 0; i < 1'000'000; ++i) plain(i % 1000 == 0 ? work : 0);
        }
    }
    std::printf("%.3f\n", static_cast<double>(std::clock()) / CLOCKS_PER_SEC);
}
