// The calls that end a process without running destructors.
#include <stdlib.h>
#include <unistd.h>

#include "core.hpp"
#include "interpose.hpp"

namespace flameprobe {
namespace {

void (*next_exit)(int) = nullptr;
void (*next_Exit)(int) = nullptr;
void (*next_quick_exit)(int) = nullptr;

void finish() noexcept {
    const flameprobe_core* core = core_if_loaded();
    if (core == nullptr) return;
    core->release_host_resources();
    core->finish();
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

// Not by at_quick_exit, whose functions run in reverse order: ours would run last only if it were registered first. The
// host's own functions run after this, and may still need its connections.
FLAMEPROBE_INTERPOSED __attribute__((noreturn)) void quick_exit(int status) {
    if (const flameprobe_core* core = core_if_loaded()) core->finish();
    next(next_quick_exit, "quick_exit")(status);
    __builtin_unreachable();
}
