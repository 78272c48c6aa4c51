// Programs whose shares are fixed by construction: shares MODE ROUNDS [PLUGIN]. A round is 100 units of work, divided
// as the functions' names say: leaf_70 does 70 of them. tests/integration/test_shares.py knows what to expect.
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "burn.hpp"

namespace {

/// Multiplies all work of a round. It varies from round to round, in a fixed order, so that no sampling frequency can
/// be in step with the rounds.
unsigned round_scale = 1;
void next_round() {
    static std::uint32_t state = 1;
    state = state * 1664525 + 1013904223;
    round_scale = 1 + (state >> 28);  // 1 to 16
}
[[gnu::always_inline]] inline void burn(unsigned units) { shares::burn(units * round_scale); }

#define NOT_A_TAIL_CALL asm volatile("")
#define LEAF(name, units)           \
    [[gnu::noinline]] void name() { \
        burn(units);                \
        NOT_A_TAIL_CALL;            \
    }

LEAF(leaf_70, 70)
LEAF(leaf_20, 20)
LEAF(leaf_7, 7)
LEAF(leaf_3, 3)

/// 70/20/7/3 as leaves; branch_27 holds two of them.
[[gnu::noinline]] void branch_27() {
    leaf_20();
    leaf_7();
    NOT_A_TAIL_CALL;
}
void round_leaves() {
    leaf_70();
    branch_27();
    leaf_3();
}

/// Ten levels with 6 units each, 60 in all, and 40 outside: inclusive must count a sample once however deep it is.
[[gnu::noinline]] void recurse_60(unsigned depth) {
    burn(6);
    if (depth > 1) recurse_60(depth - 1);
    NOT_A_TAIL_CALL;
}
LEAF(outside_40, 40)
void round_recursion() {
    recurse_60(10);
    outside_40();
}

/// Four calls of each: 4 x 15 and 4 x 10.
[[gnu::noinline]] void odd_40(unsigned depth);
[[gnu::noinline]] void even_60(unsigned depth) {
    burn(15);
    if (depth > 0) odd_40(depth - 1);
    NOT_A_TAIL_CALL;
}
void odd_40(unsigned depth) {
    burn(10);
    if (depth > 0) even_60(depth - 1);
    NOT_A_TAIL_CALL;
}
void round_mutual() { even_60(7); }

/// The jumper leaves before tail_80 works: it has its own 20 units and none of the 80.
[[gnu::noinline]] void tail_80() {
    burn(80);
    NOT_A_TAIL_CALL;
}
[[gnu::noinline]] void jumper_20() {
    burn(20);
    return tail_80();
}
void round_tail() {
    jumper_20();
    NOT_A_TAIL_CALL;
}

/// No function of their own in the machine code; debug information knows them.
[[gnu::always_inline]] inline void inlined_45() { burn(45); }
[[gnu::always_inline]] inline void inlined_25() { burn(25); }
[[gnu::noinline]] void host_30() {
    burn(30);
    inlined_45();
    inlined_25();
    NOT_A_TAIL_CALL;
}
void round_inlined() { host_30(); }

struct Shape {
    virtual ~Shape() = default;
    virtual void area() const = 0;
};
struct Square final : Shape {
    void area() const override {
        burn(35);
        NOT_A_TAIL_CALL;
    }
};
struct Circle final : Shape {
    void area() const override {
        burn(65);
        NOT_A_TAIL_CALL;
    }
};
const Shape& opaque(const Shape& shape) {
    const Shape* pointer = &shape;
    asm volatile("" : "+r"(pointer));  // or the compiler would know the type and call directly
    return *pointer;
}
void round_virtual() {
    opaque(Square{}).area();
    opaque(Circle{}).area();
}

using PluginFunction = void (*)(unsigned);
PluginFunction plugin = nullptr;
LEAF(program_60, 60)
void round_plugin() {
    plugin(40 * round_scale);
    program_60();
}
bool load_plugin(const char* path) {
    void* handle = path == nullptr ? nullptr : ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) plugin = reinterpret_cast<PluginFunction>(::dlsym(handle, "plugin_40"));
    return plugin != nullptr;
}

/// Threads of 50, 30 and 20 units a round, eight times, each by its own name. Each prints its CPU time in nanoseconds:
/// beside others' work, a CPU does a thread's units more slowly than another's.
[[gnu::noinline]] void thread_work(unsigned units, unsigned long rounds) {
    for (unsigned long round = 0; round < rounds; ++round) shares::burn(units * 8);
    NOT_A_TAIL_CALL;
}
void run_threads(unsigned long rounds) {
    const auto start = [rounds](const char* name, unsigned units) {
        return std::thread([=] {
            ::pthread_setname_np(::pthread_self(), name);
            thread_work(units, rounds);
            timespec used{};
            ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
            std::printf("%s %lld\n", name, used.tv_sec * 1'000'000'000LL + used.tv_nsec);
        });
    };
    std::thread threads[] = {start("half", 50), start("third", 30), start("fifth", 20)};
    for (auto& thread : threads) thread.join();
}

struct Mode {
    const char* name;
    void (*round)();
};
constexpr Mode modes[] = {{"leaves", round_leaves}, {"recursion", round_recursion}, {"mutual", round_mutual},
                          {"tail", round_tail},     {"inlined", round_inlined},     {"virtual", round_virtual},
                          {"plugin", round_plugin}};

}  // namespace

int main(int argc, char** argv) {
    const unsigned long rounds = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0;
    if (rounds == 0 || (std::strcmp(argv[1], "plugin") == 0 && !load_plugin(argc > 3 ? argv[3] : nullptr))) {
        std::fprintf(stderr, "usage: shares MODE ROUNDS [PLUGIN]\n");
        return 2;
    }
    if (std::strcmp(argv[1], "threads") == 0) {
        run_threads(rounds);
        std::printf("%lu rounds\n", rounds);
        return 0;
    }
    for (const Mode& mode : modes) {
        if (std::strcmp(mode.name, argv[1]) != 0) continue;
        for (unsigned long round = 0; round < rounds; ++round) {
            next_round();
            mode.round();
        }
        std::printf("%lu rounds\n", rounds);
        return 0;
    }
    std::fprintf(stderr, "shares: no mode %s\n", argv[1]);
    return 2;
}
