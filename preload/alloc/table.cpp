// What the collector asks of this library.
#include <stdint.h>
#include <stdlib.h>

#include <utility>

#include "counting.hpp"
#include "memory.hpp"

extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[], etext[];

namespace flameprobe::alloc {
namespace {

enum Reach : int { unknown, elsewhere, here };
constinit int reach = unknown;

/// Whether a call finds our malloc. It is tried: to look for the one that is found would take dlopen, which runs the
/// constructors of a library that has not begun.
bool is_called() noexcept {
    Record probe{.left = far_away};
    Record* const before = std::exchange(own_record, &probe);
    ::free(::malloc(1));
    own_record = before;
    return probe.calls != 0;
}

bool reached() noexcept {
    int known = __atomic_load_n(&reach, __ATOMIC_RELAXED);
    if (known == unknown) {
        known = is_called() ? here : elsewhere;
        __atomic_store_n(&reach, known, __ATOMIC_RELAXED);
    }
    return known == here;
}

// Before the host's constructors, one of which may have the dynamic linker's lock when the collector asks.
__attribute__((constructor(101))) void begin() {
    reached();
    prepare();
}

}  // namespace
}  // namespace flameprobe::alloc

extern "C" __attribute__((visibility("default"))) const flameprobe::alloc::Table* flameprobe_alloc_table() {
    static constinit flameprobe::alloc::Table table{};
    table = {.version = flameprobe::alloc::table_version,
             .state = flameprobe::alloc::ready_state,
             .exempt = flameprobe::alloc::exempt_this_thread,
             .go_silent = flameprobe::alloc::go_silent,
             .reached = flameprobe::alloc::reached,
             .code_begin = reinterpret_cast<uintptr_t>(__ehdr_start),
             .code_end = reinterpret_cast<uintptr_t>(etext)};
    return &table;
}
