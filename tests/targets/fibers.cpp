// fibers KIND SECONDS KIBIBYTES COUNT: works on stacks of its own, made as libraries of coroutines make them. Each has
// first() at its start, and below that as many frames of recurse() as fill so many KiB, then work(). With COUNT stacks
// it goes from one to the next all the time (KIND "context" only). KIND "called": the stack is one that a function
// calls on, as Rust's psm does for stacker; "called-below" is the same from another new stack, at a lower address.
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

extern "C" {
[[noreturn]] void start_on(void* top, void (*function)(long), const void* return_address, long argument);
void exits_as_boost();
void call_on(long argument, long unused, void (*function)(long), void* top);
extern const char behind_linked_trampoline[];
// As libco's: what a coroutine would come to if its first function returned.
[[gnu::noinline]] void crash() { std::abort(); }
}

namespace {

constexpr std::size_t stack_size = 1 << 20, frame_size = 1024;
volatile unsigned long sink = 0;
double seconds = 0;
std::vector<ucontext_t> fibers;
ucontext_t main_context;

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

[[gnu::noinline]] void work() {
    for (unsigned long i = 0; i < 300'000; ++i) sink = sink + i * i;
}

[[gnu::noinline]] void recurse(long depth, std::size_t fiber) {
    volatile char space[frame_size - 64];
    space[0] = 1;
    // From one of two places, as the bits of a number tell: a recursion from one place does not show who called it.
    if (depth > 0 && (0x9e3779b97f4a7c15 >> depth % 64 & 1) != 0) {
        recurse(depth - 1, fiber);
        space[1] = 1;
    } else if (depth > 0) {
        recurse(depth - 1, fiber);
        space[1] = 2;
    } else {
        while (cpu_seconds() < seconds) {
            work();
            if (fibers.size() > 1) swapcontext(&fibers[fiber], &fibers[(fiber + 1) % fibers.size()]);
        }
    }
    sink = sink + static_cast<unsigned long>(space[0]);
}

long kibibytes = 0;

[[gnu::noinline]] void first(long fiber) {
    recurse(kibibytes, static_cast<std::size_t>(fiber));
    _exit(0);
}

void context_entry(int fiber) { first(fiber); }

char* new_stack() {
    void* const memory = mmap(nullptr, stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

char* higher_stack = nullptr;

[[gnu::noinline]] void call_first(long) {
    call_on(0, 0, first, higher_stack + stack_size);
    sink = sink + 1;  // not a tail call
}

/// The caller's stack lies above the new one ("called"), or below it.
int by_call(bool from_below) {
    char* lower = new_stack();
    higher_stack = new_stack();
    if (lower == nullptr || higher_stack == nullptr) return 1;
    if (lower > higher_stack) std::swap(lower, higher_stack);
    if (from_below) call_on(0, 0, call_first, lower + stack_size);
    call_first(0);
    return 1;
}

int by_context(std::size_t count) {
    fibers.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        getcontext(&fibers[i]);
        fibers[i].uc_stack.ss_sp = new_stack();
        fibers[i].uc_stack.ss_size = stack_size;
        fibers[i].uc_link = &main_context;
        makecontext(&fibers[i], reinterpret_cast<void (*)()>(context_entry), 1, static_cast<int>(i));
    }
    return swapcontext(&main_context, &fibers[0]);
}

const void* return_address_of(const char* kind) {
    const auto code = [](auto* function) { return reinterpret_cast<const void*>(function); };
    if (std::strcmp(kind, "zero") == 0) return nullptr;
    if (std::strcmp(kind, "minicoro") == 0) return reinterpret_cast<const void*>(0xdeaddeaddeaddead);
    if (std::strcmp(kind, "libco") == 0 || std::strcmp(kind, "redirected") == 0) return code(crash);
    if (std::strcmp(kind, "boost") == 0) return code(exits_as_boost);
    if (std::strcmp(kind, "corosensei") == 0) return behind_linked_trampoline;
    if (std::strcmp(kind, "elsewhere") == 0) return reinterpret_cast<const char*>(code(work)) + 4;
    std::fprintf(stderr, "unknown kind %s\n", kind);
    std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) return 2;
    seconds = std::atof(argv[2]);
    kibibytes = std::atol(argv[3]);
    if (std::strcmp(argv[1], "context") == 0) return by_context(static_cast<std::size_t>(std::atol(argv[4])));
    if (std::strncmp(argv[1], "called", 6) == 0) return by_call(std::strcmp(argv[1], "called-below") == 0);
    char* const memory = new_stack();
    if (memory == nullptr) return 1;
    const void* const return_address = return_address_of(argv[1]);
    char* const top = memory + stack_size - 256;
    // A profiler that redirects returns has the same address in the frames above too.
    if (std::strcmp(argv[1], "redirected") == 0) std::memcpy(top + 64, &return_address, sizeof return_address);
    start_on(top, first, return_address, 0);
}
