// What a frame costs: remembered rules (hot and with a cold stack), a rule's first sight, and a frame by its table's
// expressions. Prints medians; asserts nothing.
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/proc_maps.hpp"
#include "base/self_memory.hpp"
#include "cpu/registers.hpp"
#include "cpu/signal_frame.hpp"
#include "unwind/irregular_stepper.hpp"
#include "unwind/rule_source.hpp"
#include "unwind/unwinder.hpp"

using namespace flameprobe;

namespace {

struct Snapshot {
    Registers registers;
    std::vector<std::byte> stack;
};
Snapshot* wanted = nullptr;

void on_signal(int, siginfo_t*, void* context) {
    cpu::copy_registers(*static_cast<ucontext_t*>(context), wanted->registers);
    wanted->stack.resize(16u << 10);
    wanted->stack.resize(read_self(wanted->registers.sp(), wanted->stack));
}

int compare(const void* a, const void* b) {
    if (wanted->stack.empty()) ::raise(SIGUSR1);
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}
[[gnu::noinline]] int nest(int depth, const std::function<void()>& inside) {
    volatile char padding[64] = {};
    if (depth == 0) {
        inside();
    } else {
        nest(depth - 1, inside);
    }
    return padding[depth];
}
/// About 25 frames: the bench's own, the C library's sort, signal code.
Snapshot take() {
    Snapshot out;
    wanted = &out;
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGUSR1, &action, nullptr);
    nest(10, [] {
        std::vector<int> numbers(64, 1);
        std::qsort(numbers.data(), numbers.size(), sizeof(int), compare);
    });
    return out;
}

void add_mappings(CodeMap& map) {
    const auto maps = read_proc_maps();
    for (const MapsLine& line : maps->lines) {
        if (!line.executable || !line.path.starts_with('/')) continue;
        CodeRegion region;
        region.kind = RegionKind::file;
        region.start = line.start;
        region.end = line.end;
        region.file_offset = line.offset;
        region.path = line.path;
        map.add(region);
    }
}

/// Median over repeats of the time of `work`, per `units`, in nanoseconds.
double median_ns(int repeats, double units, const std::function<void()>& work) {
    std::vector<double> times;
    for (int i = 0; i < repeats; ++i) {
        const std::uint64_t start = monotonic_ns();
        work();
        times.push_back(static_cast<double>(monotonic_ns() - start) / units);
    }
    std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
    return times[static_cast<std::size_t>(repeats) / 2];
}

void bench_walks(const CodeMap& map, const Snapshot& snapshot) {
    constexpr int walks = 1000;
    const auto unwinder = make_dwarf_unwinder(map);
    const StackCopy copy{snapshot.registers.sp(), snapshot.stack};
    Walk walk;
    unwinder->walk(snapshot.registers, copy, nullptr, walk);
    const double frames = static_cast<double>(walk.frames.size());
    std::printf("frames: %zu, end: %s\n", walk.frames.size(), describe(walk.end).data());
    std::printf("rules, hot: %.1f ns/frame\n", median_ns(101, frames * walks, [&] {
                    for (int i = 0; i < walks; ++i) unwinder->walk(snapshot.registers, copy, nullptr, walk);
                }));

    std::vector<std::vector<std::byte>> copies(2048, snapshot.stack);  // 32 MiB: colder than any second-level cache
    std::printf("rules, cold stack bytes: %.1f ns/frame\n",
                median_ns(11, frames * static_cast<double>(copies.size()), [&] {
                    for (const auto& bytes : copies)
                        unwinder->walk(snapshot.registers, {snapshot.registers.sp(), bytes}, nullptr, walk);
                }));
    std::printf("a new unwinder, tables opened and all: %.1f us/walk\n",
                median_ns(11, 1000, [&] { make_dwarf_unwinder(map)->walk(snapshot.registers, copy, nullptr, walk); }));
}

void bench_misses(const CodeMap& map) {
    const CodeRegion* const region = map.find(reinterpret_cast<std::uint64_t>(&::qsort));
    std::mt19937_64 random(7);
    std::vector<double> times;
    RuleSource rules(map, false);
    rules.start();
    rules.rule(region->start);
    for (int i = 0; i < 10000; ++i) {
        const std::uint64_t address = region->start + random() % (region->end - region->start);
        const std::uint64_t start = monotonic_ns();
        rules.rule(address);
        times.push_back(static_cast<double>(monotonic_ns() - start));
    }
    std::sort(times.begin(), times.end());
    std::printf("first sight of an address of libc: median %.0f ns, p99 %.0f ns (with the clock's own cost)\n",
                times[times.size() / 2], times[times.size() * 99 / 100]);
}

void bench_expressions(const CodeMap& map, const Snapshot& snapshot) {
    ModuleTable modules;
    IrregularStepper stepper(map, modules);
    StackReader stack;
    std::size_t steps = 0;
    const auto walk = [&] {
        Cursor cursor{snapshot.registers.pc(), snapshot.registers.sp(), snapshot.registers.fp(),
                      snapshot.registers.value[Arch::third]};
        stack.start({snapshot.registers.sp(), snapshot.stack}, nullptr);
        const Registers* all = &snapshot.registers;
        for (steps = 1; !stepper.step(cursor, all, stack); ++steps) all = nullptr;
    };
    walk();
    std::printf("by expressions, worked out anew each time: %.0f ns/frame (%zu frames)\n",
                median_ns(51, static_cast<double>(steps), walk), steps);
}

}  // namespace

int main() {
    const Snapshot snapshot = take();
    CodeMap map;
    add_mappings(map);
    bench_walks(map, snapshot);
    bench_misses(map);
    bench_expressions(map, snapshot);
}
