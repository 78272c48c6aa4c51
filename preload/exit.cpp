// The calls that end a process: without running destructors, or past ours.
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "interpose.hpp"
#include "parts.hpp"

extern "C" __attribute__((visibility("hidden"))) void* __dso_handle;  // of the compiler: this library

namespace flameprobe {
namespace {

void (*next_exit)(int) = nullptr, (*next_at_once)(int) = nullptr, (*next_Exit)(int) = nullptr;
// By the address of its errno: the thread that was the first to end the process, and the one in our destructor.
constinit const int *first = nullptr, *last = nullptr;

void finish() noexcept {
    if (const flameprobe_core* core = core_if_loaded()) core->finish();
}

// At load: the end may be a forked child's only call, and each child would look it up again.
__attribute__((constructor(101))) void find_functions() {
    next(next_exit, "exit");
    next(next_at_once, "_exit");
}

// quick_exit calls these functions in reverse order: this one, registered at load, after the host's own, which may
// still work, fork and use their connections. Not by at_quick_exit, a part of which musl lacks: where a preloaded
// library misses a symbol, its dynamic linker ends the program.
__attribute__((constructor(101))) void finish_at_quick_exit() {
    using Add = int(void (*)(void*), void* library);
    if (auto* const add = reinterpret_cast<Add*>(look_up_next("__cxa_at_quick_exit")))
        add([](void*) { finish(); }, &__dso_handle);
}

// libc's exit, to which main returns past ours, ends the process where no function is left. This one was registered
// before all others, so it is left for that thread, which waits while another one is in our destructor.
__attribute__((constructor(101))) void keep_a_function_for_main() {
    using Add = int(void (*)(void*), void* argument, void* library);
    const auto wait_for_other = [](void*) {
        const int* const other = __atomic_load_n(&last, __ATOMIC_ACQUIRE);
        if (other != nullptr && other != &errno) finish();
    };
    if (auto* const add = reinterpret_cast<Add*>(look_up_next("__cxa_atexit"))) add(wait_for_other, nullptr, nullptr);
}

}  // namespace

void begin_destruction() noexcept {
    begin_exit();
    __atomic_store_n(&last, &errno, __ATOMIC_RELEASE);
}

bool begin_exit() noexcept {
    const int* found = nullptr;
    const int* const self = &errno;
    return __atomic_compare_exchange_n(&first, &found, self, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
           found == self;
}

void forget_exit_in_child() noexcept { __atomic_store_n(&first, nullptr, __ATOMIC_RELEASE); }

}  // namespace flameprobe

using namespace flameprobe;

// libc gives each function that was registered to one of the threads that call exit. A thread for which none is left
// ends the process, while another is still in ours. The name is another here, since a call of what never returns is no
// tail call, and the caller of the host's functions would be a frame of ours.
extern "C" __attribute__((visibility("default"))) void flameprobe_exit_(int status) __asm__("exit");
void flameprobe_exit_(int status) {
    if (is_of_this_process() && !begin_exit()) finish();
    next(next_exit, "exit")(status);
}

FLAMEPROBE_INTERPOSED __attribute__((noreturn)) void _exit(int status) {
    finish();
    next(next_at_once, "_exit")(status);
    __builtin_unreachable();
}

FLAMEPROBE_INTERPOSED __attribute__((noreturn)) void _Exit(int status) {
    finish();
    next(next_Exit, "_Exit")(status);
    __builtin_unreachable();
}
