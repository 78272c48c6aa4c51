// Two phases, one after the other, each in a scope of its own; both spend their time in an inlined function.
//   phases [MILLISECONDS [delete-me]]
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <flameprobe/flameprobe.hpp>

namespace {

volatile unsigned sink;

inline __attribute__((always_inline)) unsigned inlined_step(unsigned value) {
    for (int i = 0; i < 1000; ++i) value = (value ^ static_cast<unsigned>(i)) * 2654435761u;  // the hot line
    return value;
}

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

__attribute__((noinline)) void early_phase(double end) {
    FlameProbe::Scope scope{"checkout"};
    while (cpu_seconds() < end) sink = inlined_step(sink);
    sink = sink + 1;
}

__attribute__((noinline)) void late_phase(double end) {
    FlameProbe::Scope scope{"payment"};
    while (cpu_seconds() < end) sink = inlined_step(sink);
    sink = sink + 2;
}

}  // namespace

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) / 1000 : 0.5;
    if (argc > 2 && std::strcmp(argv[2], "delete-me") == 0 && unlink(argv[0]) != 0) return 1;
    early_phase(seconds);
    late_phase(2 * seconds);
    std::puts("done");
    return 0;
}
