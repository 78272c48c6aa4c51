// A million handler calls by real signals: not one allocation, errno kept, and little stack. Exits 1 with the reason.
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "capture/handler/handler.hpp"
#include "capture/handler_memory.hpp"

// These replace libc's functions and call them, so that every malloc, calloc and realloc of this program is counted.
static std::atomic<unsigned long> allocations{0};
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void __libc_free(void*);
void* malloc(std::size_t size) {
    ++allocations;
    return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
    ++allocations;
    return __libc_calloc(count, size);
}
void* realloc(void* block, std::size_t size) {
    ++allocations;
    return __libc_realloc(block, size);
}
void free(void* block) { __libc_free(block); }
}

namespace {

using namespace flameprobe;

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "%s\n", what);
    std::exit(1);
}

constexpr std::size_t painted_bytes = 64 * 1024;
constexpr unsigned char paint = 0xa5;

// The part of a painted alternate stack that was written to, from its upper end down.
std::size_t used(const unsigned char* stack) {
    std::size_t clean = 0;
    while (clean < painted_bytes && stack[clean] == paint) ++clean;
    return painted_bytes - clean;
}

void empty_handler(int, siginfo_t*, void*) {}

}  // namespace

int main() {
    auto memory = HandlerMemory::make({16 * 1024, 64, 4});
    if (!memory) fail(memory.error().message.c_str());
    auto& state = memory->state();
    state.period_ns = state.tick_ns = handler::timer_interval_ns;  // each call is due
    state.sampling = true;
    const auto tid = static_cast<std::uint32_t>(::syscall(SYS_gettid));
    const std::uint32_t slot = handler::claim_slot(state, tid);

    auto* const stack = static_cast<unsigned char*>(
        ::mmap(nullptr, painted_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    const stack_t alternate{stack, 0, painted_bytes};
    if (stack == MAP_FAILED || ::sigaltstack(&alternate, nullptr) != 0) fail("no alternate stack");

    siginfo_t info{};
    info.si_signo = SIGPROF;
    info.si_code = SI_TIMER;
    const handler::Token token{handler::secret(0), 0, static_cast<std::uint16_t>(slot)};
    info.si_value.sival_ptr = reinterpret_cast<void*>(token.pack());
    const auto send = [&] { return ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), tid, SIGPROF, &info); };

    // What the kernel's frame takes, by a handler that does nothing.
    struct sigaction action {};
    action.sa_sigaction = &empty_handler;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigaction(SIGPROF, &action, nullptr);
    std::memset(stack, paint, painted_bytes);
    send();
    const std::size_t frame = used(stack);

    if (handler::install(SIGPROF) != 0) fail("the handler cannot be installed");
    std::memset(stack, paint, painted_bytes);
    const unsigned long before = allocations;
    constexpr unsigned long calls = 1'000'000;
    std::uint64_t samples = 0;
    for (unsigned long i = 0; i < calls; ++i) {
        // With the stack known and unknown, and with a full pool.
        const bool known = i % 2 == 0;
        state.slots[slot].stack_high = reinterpret_cast<std::uint64_t>(&info) + 64;
        state.slots[slot].stack_low = known ? reinterpret_cast<std::uint64_t>(&info) - (1 << 20) : ~std::uint64_t{0};
        errno = 4242;
        if (send() != 0) fail("the signal cannot be sent");
        if (errno != 4242) fail("errno was changed by the handler");
        if (i % 1000 < 900) {
            for (std::uint32_t cell = 0; cell < state.pool.count(); ++cell) {
                if (!state.pool.full(cell)) continue;
                ++samples;
                state.pool.release(cell);
            }
        }
    }
    const unsigned long made = allocations - before;
    const std::size_t ours = used(stack) - frame;
    samples += state.slots[slot].dropped / state.period_ns;
    std::uint64_t left = 0;
    for (std::uint32_t cell = 0; cell < state.pool.count(); ++cell) left += state.pool.full(cell) ? 1 : 0;
    std::printf(
        "%lu calls: %lu allocations, %lu samples of which %lu dropped, stack %zu bytes beyond an empty handler's %zu\n",
        calls, made, static_cast<unsigned long>(samples + left),
        static_cast<unsigned long>(state.slots[slot].dropped.load()), ours, frame);
    if (made != 0) fail("the handler allocated");
    if (samples + left != calls) fail("a call was neither sampled nor counted as dropped");
    if (state.slots[slot].dropped == 0) fail("the pool was never full, so the test did not try that");
    constexpr std::size_t most = 1024;
    if (ours > most)
        fail("the handler uses more than 1 KiB of stack: see alternate_stack_bytes and docs/signal-safety.md");
    return 0;
}
