// What the collector asks of this library.
#include <dlfcn.h>

#include "counting.hpp"
#include "memory.hpp"

extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[], etext[];

namespace flameprobe::alloc {
namespace {

// Not by comparing addresses: a program may have one of its own for the function (psABI, "Function Addresses").
bool reached() noexcept {
    const auto found = reinterpret_cast<uintptr_t>(::dlsym(RTLD_DEFAULT, "malloc"));
    return found >= reinterpret_cast<uintptr_t>(__ehdr_start) && found < reinterpret_cast<uintptr_t>(etext);
}

// Before the host's constructors.
__attribute__((constructor(101))) void begin() { prepare(); }

}  // namespace
}  // namespace flameprobe::alloc

extern "C" __attribute__((visibility("default"))) const flameprobe::alloc::Table* flameprobe_alloc_table() {
    static constinit flameprobe::alloc::Table table{};
    table = {.version = flameprobe::alloc::table_version,
             .state = flameprobe::alloc::state,
             .exempt = flameprobe::alloc::exempt_this_thread,
             .wake_by = flameprobe::alloc::wake_collector_by,
             .go_silent = flameprobe::alloc::go_silent,
             .reached = flameprobe::alloc::reached,
             .code_begin = reinterpret_cast<uintptr_t>(__ehdr_start),
             .code_end = reinterpret_cast<uintptr_t>(etext)};
    return &table;
}
