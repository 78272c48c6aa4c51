// Profiles that begin and end as the program says. Its functions tell what should be in which.
//
// usage: lives MODE [PATH]
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <flameprobe/flameprobe.hpp>
#include <fstream>
#include <map>
#include <string>

#define NOINLINE __attribute__((noinline))

namespace {

void burn(double seconds) {
    const auto end = std::clock() + static_cast<std::clock_t>(seconds * CLOCKS_PER_SEC);
    while (std::clock() < end) {
        for (int i = 0; i < 100'000; ++i) asm volatile("");  // the clock itself is the kernel's time
    }
}

// Different constants, lest the compiler makes one function of them.
NOINLINE void first_work() {
    burn(0.2);
    asm volatile("" : : "i"(1));
}
NOINLINE void second_work() {
    burn(0.2);
    asm volatile("" : : "i"(2));
}

void expect(const char* what, const FlameProbe::Result& result, flameprobe_code code) {
    if (result.code() == code) return;
    std::fprintf(stderr, "%s: %d instead of %d: %s\n", what, result.code(), code, result.message());
    std::_Exit(1);
}

FlameProbe::Options options(const std::string& output, std::uint32_t frequency) {
    FlameProbe::Options wanted;
    wanted.output = output;
    wanted.frequency = frequency;
    wanted.format = "folded";
    return wanted;
}

void two_profiles(const std::string& path, const FlameProbe::Options& second) {
    expect("start", FlameProbe::start(options(path, 997)), FLAMEPROBE_OK);
    first_work();
    expect("start again", FlameProbe::start(second), FLAMEPROBE_RUNNING);
    expect("stop", FlameProbe::stop(), FLAMEPROBE_OK);
    expect("start anew", FlameProbe::start(second), FLAMEPROBE_OK);
    second_work();
}

void other_options(const std::string& path) { two_profiles(path, options(path + "-second", 499)); }
void same_path(const std::string& path) { two_profiles(path, options(path, 499)); }
void same_options(const std::string& path) {
    expect("start", FlameProbe::start(options(path, 997)), FLAMEPROBE_OK);
    first_work();
    expect("stop", FlameProbe::stop(), FLAMEPROBE_OK);
    expect("start", FlameProbe::start(options(path, 997)), FLAMEPROBE_OK);
    second_work();
    expect("stop", FlameProbe::stop(), FLAMEPROBE_OK);
    expect("start", FlameProbe::start(), FLAMEPROBE_OK);
}

void bad_options(const std::string& path) {
    expect("start", FlameProbe::start(options(path, 997)), FLAMEPROBE_OK);
    first_work();
    expect("stop", FlameProbe::stop(), FLAMEPROBE_OK);
    expect("start", FlameProbe::start(options(path, 20001)), FLAMEPROBE_BAD_OPTION);
    expect("start", FlameProbe::start(options(path, 997)), FLAMEPROBE_OK);
    second_work();
}

void by_signal(const std::string& path) {
    auto wanted = options(path, 997);
    wanted.signal = "USR2";
    expect("start", FlameProbe::start(wanted), FLAMEPROBE_OK);
    first_work();
    raise(SIGUSR2);
    while (FlameProbe::is_running()) burn(0.001);
    raise(SIGUSR2);
    while (!FlameProbe::is_running()) burn(0.001);
    second_work();
}

long resident_kib() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.rfind("VmRSS:", 0) == 0) return std::atol(line.c_str() + 6);
    }
    return -1;
}

// Prints what the process grew by in all but the first ten profiles.
void many_profiles(const std::string& path) {
    long after_ten = 0;
    for (std::uint32_t i = 0; i < 60; ++i) {
        expect("start", FlameProbe::start(options(path, 500 + i)), FLAMEPROBE_OK);
        burn(0.01);
        expect("stop", FlameProbe::stop(), FLAMEPROBE_OK);
        if (i == 9) after_ten = resident_kib();
    }
    std::printf("%ld\n", resident_kib() - after_ten);
}

void dumped(const std::string& path) {
    expect("dump", FlameProbe::dump(path + "-early"), FLAMEPROBE_NOT_RUNNING);
    expect("start", FlameProbe::start(options(path, 997)), FLAMEPROBE_OK);
    first_work();
    expect("dump", FlameProbe::dump(path + "-%e-%n"), FLAMEPROBE_OK);
    second_work();
    expect("dump", FlameProbe::dump(path + "-%e-%n"), FLAMEPROBE_OK);
    expect("dump", FlameProbe::dump("/nowhere/result"), FLAMEPROBE_OUTPUT);
}

// In one run, before main, in it, in atexit and in a static destructor.
bool all_of_life = false;
struct Life {
    Life() {
        const char* path = std::getenv("LIVES_PATH");
        all_of_life = path != nullptr;
        if (!all_of_life) return;
        expect("start before main", FlameProbe::start(options(path, 997)), FLAMEPROBE_OK);
        first_work();
    }
    ~Life() {
        if (!all_of_life) return;
        expect("start after main", FlameProbe::start(), FLAMEPROBE_OK);
        second_work();
        expect("dump after main", FlameProbe::dump(std::string(std::getenv("LIVES_PATH")) + "-after"), FLAMEPROBE_OK);
    }
} life;

void at_exit() {
    if (!FlameProbe::is_running()) std::_Exit(1);
    expect("stop in atexit", FlameProbe::stop(), FLAMEPROBE_OK);
    expect("stop again", FlameProbe::stop(), FLAMEPROBE_NOT_RUNNING);
}
void whole_life(const std::string&) { std::atexit(at_exit); }

}  // namespace

int main(int argc, char** argv) {
    const std::map<std::string, void (*)(const std::string&)> modes = {
        {"other-options", other_options}, {"same-path", same_path},         {"same-options", same_options},
        {"bad-options", bad_options},     {"by-signal", by_signal},         {"dumped", dumped},
        {"whole-life", whole_life},       {"many-profiles", many_profiles},
    };
    const auto mode = modes.find(argc > 1 ? argv[1] : "");
    if (mode == modes.end()) return 2;
    mode->second(argc > 2 ? argv[2] : "lives");
    std::puts("done");
}
