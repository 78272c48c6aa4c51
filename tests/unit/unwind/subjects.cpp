// Compiled once per set of flags; SUBJECTS is the name of the list.
#include "subjects.hpp"

#include <alloca.h>
#include <sys/time.h>
#include <time.h>

#include <array>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace flameprobe::testing {
namespace {

#if defined(__clang__)
#define APART [[gnu::noinline]]
#else
#define APART [[gnu::noinline, gnu::noclone]]
#endif

volatile int sink = 0;
volatile int four = 4;

APART int leaf(int value) { return value * 3 + sink; }

// Needs more callee-saved registers than there are, so that the prologue pushes them all.
APART int many_registers(int a, int b, int c, int d, int e, int f) {
    int total = 0;
    for (int i = 0; i < 2; ++i)
        total += leaf(a + i) + leaf(b - i) + leaf(c ^ i) + leaf(d | i) + leaf(e & i) + leaf(f * i);
    return total + a * b + c * d + e * f;
}
void nested_calls() { sink = many_registers(1, 2, 3, 4, 5, 6) + leaf(7); }

APART int recurse(int depth) { return depth == 0 ? leaf(depth) : recurse(depth - 1) + leaf(depth); }
void recursion() { sink = recurse(12); }

APART int tail_target(int value) { return leaf(value) + 1; }
APART int tail_caller(int value) { return tail_target(value * 2); }
void tail_calls() { sink = tail_caller(four); }

APART void use(char* bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; i += 16) *static_cast<volatile char*>(bytes + i) = 1;
}
APART void allocate_on_stack(int size) {
    char* const bytes = static_cast<char*>(alloca(static_cast<std::size_t>(size)));
    use(bytes, static_cast<std::size_t>(size));
    sink = bytes[size / 2];
}
void alloca_frames() { allocate_on_stack(four * 100); }

APART void large_frame() {
    std::array<char, 20000> bytes;
    use(bytes.data(), 64);
    sink = bytes[5];
}

// Realigning the stack makes gcc address the frame through r10 and load the CFA from a saved word.
APART void realigned(int size) {
    alignas(64) char bytes[64];
    char* const more = static_cast<char*>(alloca(static_cast<std::size_t>(size)));
    use(bytes, sizeof bytes);
    use(more, static_cast<std::size_t>(size));
    sink = bytes[1] + more[1];
}
void realigned_frames() { realigned(four * 8); }

struct Base {
    virtual ~Base() = default;
    virtual int value(int x) = 0;
};
struct Derived final : Base {
    APART int value(int x) override { return leaf(x) + 2; }
};
APART int call_virtual(Base& object) { return object.value(3) + 1; }
void virtual_calls() {
    Derived object;
    sink = call_virtual(object);
}

int compare(const void* a, const void* b) {
    return leaf(*static_cast<const int*>(a)) - leaf(*static_cast<const int*>(b));
}
void library_callbacks() {
    std::array<int, 8> numbers{8, 3, 5, 1, 7, 2, 6, 4};
    std::qsort(numbers.data(), numbers.size(), sizeof(int), compare);
    sink = numbers[0];
}

struct Cleanup {
    APART ~Cleanup() { sink = leaf(sink); }
};
APART void throws(int depth) {
    const Cleanup cleanup;
    if (depth == 0) throw std::runtime_error("landing pads");
    throws(depth - 1);
    sink = leaf(depth);
}
void exceptions() {
    try {
        throws(2);
    } catch (const std::exception& error) {
        sink = leaf(error.what()[0]);
    }
}

std::jmp_buf escape;
// Its caller's last instruction is the call: the return address belongs to the next function.
[[noreturn]] APART void never_returns() {
    sink = leaf(1);
    std::longjmp(escape, 1);
}
[[noreturn]] APART void ends_in_call() { never_returns(); }
void noreturn_calls() {
    if (setjmp(escape) == 0) ends_in_call();
    sink = leaf(2);
}

[[gnu::cold, gnu::noinline]] void rare(int value) { sink = leaf(value) + 1; }
APART int with_cold_part(int value) {
    std::array<int, 4> kept{value, value + 1, value + 2, value + 3};
    if (__builtin_expect(value > 2, 0)) {
        rare(kept[1]);
        sink = leaf(kept[2]);
        rare(kept[3]);
    }
    return leaf(kept[0]) + kept[3];
}
void cold_parts() { sink = with_cold_part(four); }

void library_calls() {  // the first time through lazily bound PLT entries
    char text[64];
    std::snprintf(text, sizeof text, "%d %s", four, "x");
    sink = static_cast<int>(std::strlen(text)) + std::atoi(text) + std::abs(four);
}

void vdso_calls() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    timeval day{};
    ::gettimeofday(&day, nullptr);
    sink = static_cast<int>(now.tv_nsec + day.tv_usec);
}

void on_signal(int) { sink = leaf(5) + recurse(2); }
APART void raise_with(int flags) {
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = flags;
    ::sigaction(SIGUSR1, &action, nullptr);
    ::raise(SIGUSR1);
    sink = leaf(6);
}
void signal_handlers() { raise_with(0); }
alignas(16) char alternate[64 << 10];
void alternate_stacks() {
    stack_t stack{};
    stack.ss_sp = alternate;
    stack.ss_size = sizeof alternate;
    ::sigaltstack(&stack, nullptr);
    raise_with(SA_ONSTACK);
}

constexpr std::array all{Subject{"nested calls", nested_calls},
                         Subject{"recursion", recursion},
                         Subject{"tail calls", tail_calls},
                         Subject{"alloca", alloca_frames},
                         Subject{"large frame", large_frame},
                         Subject{"realigned", realigned_frames},
                         Subject{"virtual calls", virtual_calls},
                         Subject{"cold parts", cold_parts},
                         Subject{"qsort callbacks", library_callbacks},
                         Subject{"exceptions", exceptions},
                         Subject{"noreturn", noreturn_calls},
                         Subject{"library calls", library_calls},
                         Subject{"vdso", vdso_calls},
                         Subject{"signal handler", signal_handlers},
                         Subject{"alternate stack", alternate_stacks}};

}  // namespace

std::span<const Subject> SUBJECTS() { return all; }

}  // namespace flameprobe::testing
