// Stacks are never unmapped. One is taken again once the kernel says that its thread is gone: up to its last
// instruction a thread may get a signal. A forked child never takes one that its parent's threads had, its own among
// them.
#include "own_stacks.hpp"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

#include "cpu/instructions.hpp"

namespace flameprobe {
namespace {

constinit OwnStack* stacks = nullptr;
constinit OwnStack* looked_at = nullptr;  // where the last search ended
constinit bool no_more = false;

uint64_t owner_of(long pid, long tid) { return static_cast<uint64_t>(pid) << 32 | static_cast<uint32_t>(tid); }

bool has_ended(uint64_t owner, long pid) {
    const long tid = static_cast<int32_t>(owner);
    return owner >> 32 == static_cast<uint64_t>(pid) && cpu::system_call(SYS_tgkill, pid, tid, 0, 0, 0, 0) == -ESRCH;
}

// A few in turn: with thousands of threads a look at every one would take longer than making a stack.
OwnStack* left_behind(size_t size, long pid, uint64_t owner) {
    constexpr int looks = 4;
    OwnStack* stack = __atomic_load_n(&looked_at, __ATOMIC_ACQUIRE);
    for (int i = 0; i < looks; ++i) {
        stack = stack == nullptr ? __atomic_load_n(&stacks, __ATOMIC_ACQUIRE) : stack->next;
        if (stack == nullptr) continue;
        __atomic_store_n(&looked_at, stack, __ATOMIC_RELEASE);
        uint64_t before = __atomic_load_n(&stack->owner, __ATOMIC_ACQUIRE);
        if (stack->size >= size && has_ended(before, pid) &&
            __atomic_compare_exchange_n(&stack->owner, &before, owner, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return stack;
    }
    return nullptr;
}

// In the mapping its description comes first, then a guard, then the stack.
OwnStack* make(size_t size, uint64_t owner) {
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    size = (size + page - 1) & ~(page - 1);
    const long at = cpu::system_call(SYS_mmap, 0, static_cast<long>(size + 2 * page), PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at < 0 && at > -4096) return nullptr;
    const auto begin = static_cast<uintptr_t>(at);
    cpu::system_call(SYS_mprotect, static_cast<long>(begin + page), static_cast<long>(page), PROT_NONE, 0, 0, 0);
    auto* const stack = new (reinterpret_cast<void*>(begin)) OwnStack{nullptr, owner, begin + 2 * page, size};
    stack->next = __atomic_load_n(&stacks, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&stacks, &stack->next, stack, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    return stack;
}

}  // namespace

OwnStack* take_own_stack(size_t size) noexcept {
    const long pid = cpu::system_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
    const uint64_t owner = owner_of(pid, cpu::system_call(SYS_gettid, 0, 0, 0, 0, 0, 0));
    if (__atomic_load_n(&no_more, __ATOMIC_RELAXED)) return nullptr;
    OwnStack* const stack = left_behind(size, pid, owner);
    return stack != nullptr ? stack : make(size, owner);
}

void make_no_more_stacks() noexcept { __atomic_store_n(&no_more, true, __ATOMIC_RELAXED); }

}  // namespace flameprobe
