#include "flameprobe/scope.hpp"

#define EXPORTED __attribute__((visibility("default"), noinline))

EXPORTED void empty_shared() { asm volatile(""); }
EXPORTED void scope_shared() {
    const FlameProbe::Scope guard{"checkout"};
    asm volatile("");
}
