// What a scope costs the program that opens it, beside an empty function and a pair of clock readings.
//
// usage: scope_bench [ROUNDS]            all rows, nanoseconds: median of ROUNDS runs, with the smallest and the
// largest
//        scope_bench --count ROW CALLS   runs one row without a clock, for instruction counts
//
// ROUNDS short runs of every row take turns, because machines are shared and their pace changes.
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "flameprobe/count.hpp"
#include "flameprobe/request.hpp"
#include "flameprobe/scope_context.hpp"

#define NOINLINE __attribute__((noinline))

// In a shared library (scope_bench_shared.cpp), where the innermost scope is found through the global offset table.
void empty_shared();
void scope_shared();

namespace {

NOINLINE void empty() { asm volatile(""); }

NOINLINE void scope() {
    FlameProbe::Scope guard{"checkout"};
    asm volatile("");
}

NOINLINE void two_scopes() {
    FlameProbe::Scope outer{"checkout"};
    FlameProbe::Scope inner{"pay"};
    asm volatile("");
}

NOINLINE void interned() {
    static const FlameProbe::Label label = FlameProbe::intern("tenant", "acme");
    FlameProbe::Scope guard{label};
    asm volatile("");
}

NOINLINE void request() {
    FlameProbe::Request guard{"checkout"};
    asm volatile("");
}

NOINLINE void count() {
    FlameProbe::count("requests", 1);
    asm volatile("");
}

NOINLINE void clock_pair() {
    timespec from, to;
    ::clock_gettime(CLOCK_MONOTONIC, &from);
    ::clock_gettime(CLOCK_MONOTONIC, &to);
    asm volatile("" : : "m"(from), "m"(to));
}

NOINLINE void intern_known() {
    const auto label = FlameProbe::intern("tenant", "acme");
    asm volatile("" : : "r"(label.text()));
}

NOINLINE void capture() {
    FlameProbe::Scope outer{"checkout"};
    const auto context = FlameProbe::ScopeContext::capture();
    asm volatile("" : : "r"(context.path().text()));
}

struct Row {
    const char* name;
    void (*function)();
    long calls;  // in one run
};
constexpr std::array rows{
    Row{"empty function", empty, 2'000'000},
    Row{"scope", scope, 2'000'000},
    Row{"two scopes", two_scopes, 2'000'000},
    Row{"scope, interned label", interned, 2'000'000},
    Row{"empty function, shared library", empty_shared, 2'000'000},
    Row{"scope, shared library", scope_shared, 2'000'000},
    Row{"count", count, 2'000'000},
    Row{"request", request, 50'000},
    Row{"pair of clock_gettime", clock_pair, 50'000},
    Row{"intern, known text", intern_known, 50'000},
    Row{"capture of one scope", capture, 5'000},
};

NOINLINE void run(const Row& row, long calls) {
    for (long i = 0; i < calls; ++i) row.function();
}

double nanoseconds(const Row& row) {
    timespec from, to;
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    run(row, row.calls);
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    const double time =
        static_cast<double>(to.tv_sec - from.tv_sec) * 1e9 + static_cast<double>(to.tv_nsec - from.tv_nsec);
    return time / static_cast<double>(row.calls);
}

void time_all(int rounds) {
    std::array<std::vector<double>, rows.size()> times;
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < rows.size(); ++i) times[i].push_back(nanoseconds(rows[i]));
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
        auto& all = times[i];
        std::sort(all.begin(), all.end());
        std::printf("%s\t%.3f\t%.3f\t%.3f\n", rows[i].name, all[all.size() / 2], all.front(), all.back());
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 4 && std::string(argv[1]) == "--count") {
        for (const auto& row : rows) {
            if (std::strcmp(row.name, argv[2]) == 0) run(row, std::atol(argv[3]));
        }
        return 0;
    }
    time_all(argc > 1 ? std::max(1, std::atoi(argv[1])) : 15);
    return 0;
}
