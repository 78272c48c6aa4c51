// Two hundred labels in known shares, each opened for a microsecond and more, nested, on several threads, on stacks
// switched by hand, in random order. The functions tell the truth: a sample in inside<n> is in label Ln and its
// group's, and one in outside is in none.
//
// usage: exact_shares ROUNDS     prints the units of work of each label
#include <setjmp.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <flameprobe/scope.hpp>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "fibers.hpp"

#define NOINLINE __attribute__((noinline))

constexpr int labels = 200, groups = 10, threads = 3;
constexpr long unit = 1000;  // of the loop's rounds: about a third of a microsecond

constexpr bool on_a_fiber(int label) { return label % groups == 6; }  // twice: before and after others had the thread
constexpr long units_of(int label) { return 3 + label % 7 + (label % 50 == 0 ? 40 : 0); }

NOINLINE void burn(long units) {
    for (long i = 0; i < units * unit; ++i) asm volatile("");
}

template <int n>
struct Name {
    static constexpr char text[] = {'L', '0' + n / 100, '0' + n / 10 % 10, '0' + n % 10, '\0'};
};

template <int n>
NOINLINE void inside() {
    burn(units_of(n));
    asm volatile("" : : "i"(n));  // lest equal functions become one
}

NOINLINE void outside() {
    burn(1);
    asm volatile("");
}

thread_local jmp_buf back;

template <int n>
NOINLINE void jump_out() {
    flameprobe_scope scope;
    flameprobe_scope_enter(&scope, Name<n>::text);
    inside<n>();
    longjmp(back, 1);
}

template <int n>
NOINLINE void labelled() {
    outside();
    if constexpr (n % 10 == 3) {
        try {
            FlameProbe::Scope scope{Name<n>::text};
            inside<n>();
            throw std::runtime_error("out of the scope");
        } catch (const std::runtime_error&) {
            outside();
        }
    } else if constexpr (n % 10 == 4) {
        if (setjmp(back) == 0) jump_out<n>();
        outside();
    } else if constexpr (on_a_fiber(n)) {
        FlameProbe::Scope scope{Name<n>::text};
        inside<n>();
        Fibers::give_way();
        inside<n>();
    } else {
        FlameProbe::Scope scope{Name<n>::text};
        inside<n>();
    }
    outside();
}

template <int... n>
constexpr std::array<void (*)(), sizeof...(n)> table(std::integer_sequence<int, n...>) {
    return {labelled<n>...};
}
constexpr auto functions = table(std::make_integer_sequence<int, labels>());

NOINLINE void deep(int depth, int label) {
    char filler[150];
    asm volatile("" : : "r"(filler) : "memory");
    if (depth == 0) {
        functions[static_cast<std::size_t>(label)]();
    } else {
        deep(depth - 1, label);
    }
    asm volatile("" : : "r"(filler) : "memory");
}

NOINLINE void in_group(int label) {
    static constexpr const char* names[groups] = {"G0", "G1", "G2", "G3", "G4", "G5", "G6", "G7", "G8", "G9"};
    FlameProbe::Scope group{FlameProbe::Label::from_immortal(names[label % groups])};
    // Far below the copy in some groups.
    deep(label % groups == 9 ? 200 : label % 5, label);
    asm volatile("");
}

void work(unsigned seed, long rounds) {
    const auto fibers = std::make_unique<Fibers>();
    for (long i = 0; i < rounds; ++i) {
        // Every label once a round, in another order each time: a step that has no divisor in common with 200.
        seed = seed * 1103515245 + 12345;
        const unsigned step = (seed >> 16) % 80 * 5 * 2 + 3, start = seed >> 8;
        for (unsigned j = 0; j < labels; ++j) {
            const auto label = static_cast<int>((start + j * step) % labels);
            on_a_fiber(label) ? fibers->begin(in_group, label) : in_group(label);
            outside();
        }
        fibers->finish_all();
    }
}

int main(int argc, char** argv) {
    const long rounds = argc > 1 ? std::atol(argv[1]) : 100;
    std::vector<std::thread> others;
    for (unsigned i = 1; i < threads; ++i) others.emplace_back(work, i, rounds);
    work(0, rounds);
    for (auto& other : others) other.join();
    for (int i = 0; i < labels; ++i) std::printf("%d %ld\n", i, units_of(i) * (on_a_fiber(i) ? 2 : 1));
}
