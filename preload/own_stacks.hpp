// Signal stacks of ours, one for each thread of the host that asked for one.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace flameprobe {

struct OwnStack {
    OwnStack* next;
    uint64_t owner;  // the thread's process and id
    uintptr_t base;
    size_t size;

    uintptr_t top() const { return base + size; }
    bool holds(uintptr_t sp) const { return sp > base && sp - base <= size; }
};

/// A stack of at least `size` bytes for the calling thread, which has it until it ends; null if there is no memory.
/// Async-signal-safe.
OwnStack* take_own_stack(size_t size) noexcept;
/// From now on only stacks that exist are taken: in a filter no call of ours may be added to the host's.
void make_no_more_stacks() noexcept;

}  // namespace flameprobe
