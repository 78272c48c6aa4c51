// A host may give several threads one alternate signal stack, or one that is too small, unmapped by now, or in use:
// alone that does no harm as long as no signal comes. Our engines' signals come at any time. So the kernel never gets
// the host's stack: it has one of ours for each thread that asks for one, and the host's is kept here. What the host
// reads back is its own, and its handlers run on its own: the signal's frame is moved there first. The rules are those
// of sigaltstack(2), in the kernel do_sigaltstack() and get_sigframe().
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <new>

#include "capture/handler/raw_system_call.hpp"
#include "capture/handler/state.hpp"
#include "cpu/kernel_abi.hpp"
#include "cpu/signal_frame.hpp"
#include "interpose.hpp"
#include "parts.hpp"

namespace flameprobe {
namespace {

constexpr int disarms_itself = static_cast<int>(1U << 31);  // SS_AUTODISARM, which libc lacks
constexpr stack_t none = {nullptr, SS_DISABLE, 0};
constexpr size_t room = handler::alternate_stack_bytes;  // for handlers of the host whose frames are not moved, too

// Stacks of ours are never unmapped. One is taken again once the kernel says that its thread is gone: up to its last
// instruction a thread may get a signal. A forked child never takes one that its parent's threads had, its own among
// them.

struct OwnStack {
    OwnStack* next;
    uint64_t owner;  // the thread's process and id
    uintptr_t base;
    size_t size;

    uintptr_t top() const { return base + size; }
    bool holds(uintptr_t sp) const { return sp > base && sp - base <= size; }
};

constinit OwnStack* stacks = nullptr;
constinit OwnStack* looked_at = nullptr;  // where the last search ended
constinit bool no_more = false;

uint64_t owner_of(long pid, long tid) { return static_cast<uint64_t>(pid) << 32 | static_cast<uint32_t>(tid); }

bool has_ended(uint64_t owner, long pid) {
    const long tid = static_cast<int32_t>(owner);
    return owner >> 32 == static_cast<uint64_t>(pid) && handler::system_call(SYS_tgkill, pid, tid) == -ESRCH;
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
    const long at = handler::system_call(SYS_mmap, 0L, size + 2 * page, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1L, 0L);
    if (at < 0 && at > -4096) return nullptr;
    const auto begin = static_cast<uintptr_t>(at);
    handler::system_call(SYS_mprotect, begin + page, page, PROT_NONE);
    auto* const stack = new (reinterpret_cast<void*>(begin)) OwnStack{nullptr, owner, begin + 2 * page, size};
    stack->next = __atomic_load_n(&stacks, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&stacks, &stack->next, stack, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    return stack;
}

/// A stack of at least `size` bytes for the calling thread, which has it until it ends; null if there is no memory.
/// Async-signal-safe.
OwnStack* take_own_stack(size_t size) noexcept {
    const long pid = handler::system_call(SYS_getpid);
    const uint64_t owner = owner_of(pid, handler::system_call(SYS_gettid));
    if (__atomic_load_n(&no_more, __ATOMIC_RELAXED)) return nullptr;
    OwnStack* const stack = left_behind(size, pid, owner);
    return stack != nullptr ? stack : make(size, owner);
}

/// What the host of a thread has set; once `own` is what the kernel has, before that the kernel itself has it.
struct Kept {
    stack_t hosts;
    OwnStack* own;
};
__attribute__((tls_model("initial-exec"))) constinit thread_local Kept kept{none, nullptr};

uintptr_t address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }
bool is_set(const stack_t& stack) { return stack.ss_size != 0; }
bool holds(const stack_t& stack, uintptr_t sp) {
    return sp > address(stack.ss_sp) && sp - address(stack.ss_sp) <= stack.ss_size;
}
/// on_sig_stack() of the kernel.
bool is_on(const stack_t& stack, uintptr_t sp) { return (stack.ss_flags & disarms_itself) == 0 && holds(stack, sp); }

int tell_kernel(const stack_t* wanted, stack_t* before) noexcept {
    return static_cast<int>(handler::system_call(SYS_sigaltstack, wanted, before));
}

bool is_engines(const stack_t& stack) noexcept {
    const flameprobe_core* core = core_if_loaded();
    return (stack.ss_flags & SS_DISABLE) == 0 && core != nullptr && core->is_own_stack(address(stack.ss_sp)) != 0;
}

stack_t as_told(const stack_t& stack, uintptr_t sp) noexcept {
    const bool on = is_on(stack, sp) || (kept.own != nullptr && kept.own->holds(sp));
    const int state = !is_set(stack) ? SS_DISABLE : on ? SS_ONSTACK : 0;
    return {stack.ss_sp, state | (stack.ss_flags & disarms_itself), stack.ss_size};
}

int check(const stack_t& wanted) noexcept {
    const int mode = wanted.ss_flags & ~disarms_itself;
    if (mode != 0 && mode != SS_ONSTACK && mode != SS_DISABLE) return -EINVAL;
    return mode != SS_DISABLE && wanted.ss_size < cpu::least_signal_stack ? -ENOMEM : 0;
}

// A signal may come in between: without a size there is no stack.
void keep(const stack_t& wanted) noexcept {
    kept.hosts.ss_size = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    kept.hosts.ss_sp = wanted.ss_sp;
    kept.hosts.ss_flags = wanted.ss_flags;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    kept.hosts.ss_size = wanted.ss_size;
}

/// The kernel gets a stack of ours. Where there is none to be had it gets the host's, as without us.
int begin_keeping(const stack_t& wanted) noexcept {
    OwnStack* const own = take_own_stack(room + wanted.ss_size);
    const stack_t ours = own == nullptr ? wanted : stack_t{reinterpret_cast<void*>(own->base), 0, own->size};
    const int failed = tell_kernel(&ours, nullptr);
    if (failed != 0 || own == nullptr) return failed;
    keep(wanted);
    kept.own = own;
    return 0;
}

int set_first(const stack_t& wanted, const stack_t& kernels) noexcept {
    if (is_set(wanted)) return begin_keeping(wanted);
    return is_set(kernels) ? tell_kernel(&wanted, nullptr) : 0;
}

/// A child that shares its parent's memory has a stack of its own in the kernel, or none: what is kept here is its
/// parent's.
int set_of_child(const stack_t* wanted, stack_t* before, uintptr_t sp) noexcept {
    stack_t real;
    const int failed = tell_kernel(wanted, &real);
    if (failed != 0 || before == nullptr) return failed;
    const bool inherited = kept.own != nullptr && kept.own->base == address(real.ss_sp);
    *before = inherited ? as_told(kept.hosts, sp) : is_engines(real) ? none : real;
    return 0;
}

/// sigaltstack(2) as the host sees it. Gives 0 or minus the error number. Async-signal-safe.
int set_alternate_stack(const stack_t* wanted, stack_t* before) noexcept {
    const uintptr_t sp = address(__builtin_frame_address(0));
    if (!is_of_this_process()) return set_of_child(wanted, before, sp);
    stack_t now = kept.hosts;
    if (kept.own == nullptr) {
        if (const int failed = tell_kernel(nullptr, &now); failed != 0) return failed;
        if (is_engines(now)) now = none;
    }
    const stack_t told = as_told(now, sp);
    if (wanted != nullptr) {
        stack_t asked = *wanted;
        if ((told.ss_flags & SS_ONSTACK) != 0) return -EPERM;
        if (const int wrong = check(asked); wrong != 0) return wrong;
        if ((asked.ss_flags & SS_DISABLE) != 0) asked.ss_sp = nullptr, asked.ss_size = 0;
        if (kept.own != nullptr)
            keep(asked);
        else if (const int failed = set_first(asked, now); failed != 0)
            return failed;
    }
    if (before == nullptr) return 0;
    // By now the stack is set, as where the kernel cannot write there.
    if (const int failed = tell_kernel(nullptr, before); failed != 0) return failed;
    *before = told;
    return 0;
}

}  // namespace

bool has_engines_stack() noexcept {
    stack_t now;
    const flameprobe_core* core = core_if_loaded();
    return core != nullptr && core->attaches_threads() != 0 && tell_kernel(nullptr, &now) == 0 && is_engines(now);
}
void give_back_engines_stack() noexcept { tell_kernel(&none, nullptr); }
void make_no_more_stacks() noexcept { __atomic_store_n(&no_more, true, __ATOMIC_RELAXED); }

void call_on_hosts_stack(void (*handler)(int, siginfo_t*, void*), int number, siginfo_t* info, void* context) noexcept {
    auto& frame = *static_cast<ucontext_t*>(context);
    const OwnStack* const own = kept.own;
    const uintptr_t sp = cpu::interrupted_sp(frame);
    // With sp on it already, another signal of the host came while the frame of this one was being moved.
    if (own == nullptr || !own->holds(address(context)) || own->holds(sp)) return;
    const stack_t hosts = is_set(kept.hosts) ? kept.hosts : none;
    const bool changes = is_set(hosts) && !is_on(hosts, sp);
    const uintptr_t low = address(hosts.ss_sp), to = changes ? low + hosts.ss_size : sp - cpu::red_zone;
    const cpu::Distance moved = cpu::copy_signal_frame(frame, own->top(), to, changes || is_on(hosts, sp) ? low : 0);
    if (moved == 0) return;
    auto* const there = reinterpret_cast<ucontext_t*>(static_cast<char*>(context) + moved);
    there->uc_stack = hosts;
    if (is_set(hosts) && (hosts.ss_flags & disarms_itself) != 0) keep(none);
    cpu::enter_handler(handler, number, reinterpret_cast<siginfo_t*>(reinterpret_cast<char*>(info) + moved), there);
}

}  // namespace flameprobe

using namespace flameprobe;

FLAMEPROBE_INTERPOSED int sigaltstack(const stack_t* wanted, stack_t* before) noexcept {
    const int result = is_readable(wanted) ? set_alternate_stack(wanted, before) : -EFAULT;
    if (result < 0) errno = -result;
    return result < 0 ? -1 : 0;
}

/// A handler whose frame was moved has returned. The kernel sets the alternate stack that it finds in the ucontext:
/// that one is the host's, and the kernel is to find ours.
extern "C" __attribute__((visibility("hidden"), used)) void flameprobe_before_signal_return_(
    ucontext_t* context) noexcept {
    const stack_t hosts = context->uc_stack;
    set_alternate_stack(&hosts, nullptr);
    context->uc_stack = {reinterpret_cast<void*>(kept.own->base), 0, kept.own->size};
}
