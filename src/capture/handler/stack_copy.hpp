// Copying the top of the interrupted stack without ever faulting.
#pragma once

#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "capture/handler/raw_system_call.hpp"
#include "capture/handler/state.hpp"

namespace flameprobe::handler {

/// A thread's own stack, which is mapped as long as the thread lives; empty where it is not known.
struct OwnStack {
    std::uint64_t low = ~std::uint64_t{0}, high = 0;
};

inline OwnStack own_stack(const ThreadSlot& slot) noexcept {
    const std::uint64_t low = slot.stack_low.load(std::memory_order_acquire);
    return {low, slot.stack_high.load(std::memory_order_relaxed)};
}

/// Gives the number of bytes copied from `sp` up, at most `wanted`. Three ways, the first that is safe.
/// The thread's own stack is read directly.
/// Any other (coroutines, alternate stacks) could lose its upper neighbours at any time: process_vm_readv stops before
/// what is not mapped (2.6 µs for 16 KiB).
/// Under a filter that call might kill or be refused: only the page in use is sure to be there.
inline std::size_t copy_stack(const State& state, OwnStack own, std::uint64_t sp, std::byte* to,
                              std::size_t wanted) noexcept {
    if (sp >= own.low && sp < own.high) {
        const std::size_t size = std::min<std::uint64_t>(wanted, own.high - sp);
        cpu::copy_bytes(to, sp, size);
        return size;
    }
    if (state.may_call.load(std::memory_order_relaxed)) {
        const iovec local{to, wanted};
        const iovec remote{reinterpret_cast<void*>(sp), wanted};
        long copied = system_call(SYS_process_vm_readv, state.pid, &local, 1L, &remote, 1L, 0L);
        if (copied == -ESRCH) {  // the main thread has ended, and has no memory any more
            copied = system_call(SYS_process_vm_readv, system_call(SYS_gettid), &local, 1L, &remote, 1L, 0L);
        }
        if (copied >= 0) return static_cast<std::size_t>(copied);
        if (copied != -EPERM && copied != -ENOSYS) return 0;
    }
    constexpr std::uint64_t page = 4096;  // the smallest there is
    // The interrupted instruction need not have touched its stack page yet, but the pc may stand right after an
    // allocation of a large frame; then the page below the last used one could be the guard. Writing there would be the
    // host's own overflow, so it is mapped or about to fault anyway, except for odd uses of the stack pointer: refuse
    // unaligned ones.
    if (sp % 8 != 0) return 0;
    const std::size_t size = std::min<std::uint64_t>(wanted, page - sp % page);
    cpu::copy_bytes(to, sp, size);
    return size;
}

}  // namespace flameprobe::handler
