// The calls that end a process without running destructors.
#include <stdlib.h>
#include <unistd.h>

#include "core.hpp"
#include "interpose.hpp"

extern "C" __attribute__((visibility("hidden"))) void* __dso_handle;  // of the compiler: this library

namespace flameprobe {
namespace {

void (*next_exit)(int) = nullptr;
void (*next_Exit)(int) = nullptr;

void finish() noexcept {
    const flameprobe_core* core = core_if_loaded();
    if (core == nullptr) return;
    core->release_host_resources();
    core->finish();
}

// quick_exit calls these functions in reverse order: this one, registered at load, after the host's own, which may
// still work, fork and use their connections. Not by at_quick_exit, a part of which musl lacks: where a preloaded
// library misses a symbol, its dynamic linker ends the program.
__attribute__((constructor(101))) void finish_at_quick_exit() {
    using Add = int(void (*)(void*), void* library);
    if (auto* const add = reinterpret_cast<Add*>(look_up_next("__cxa_at_quick_exit")))
        add([](void*) { finish(); }, &__dso_handle);
}

}  // namespace
}  // namespace flameprobe

using namespace flameprobe;

FLAMEPROBE_INTERPOSED __attribute__((noreturn)) void _exit(int status) {
    finish();
    next(next_exit, "_exit")(status);
    __builtin_unreachable();
}

FLAMEPROBE_INTERPOSED __attribute__((noreturn)) void _Exit(int status) {
    finish();
    next(next_Exit, "_Exit")(status);
    __builtin_unreachable();
}
