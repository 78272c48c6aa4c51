// longjmp leaves the scopes of the frames it jumps out of as if they were open (C++ forbids that, C does not). Most are
// told apart by the frame that covers them later; but where the same function comes to lie in the same place again, its
// old record would be believed until the function opens its scope anew. So the records are closed before the jump. Who
// needs it: a server whose loop catches errors by setjmp and runs each request at the same place, as PostgreSQL and Lua
// do: after a request that failed in a scope, the next ones would be shown in that scope.

// With it, as distributions build, setjmp.h gives longjmp, _longjmp and siglongjmp one name: __longjmp_chk.
#undef _FORTIFY_SOURCE

#include <setjmp.h>
#include <signal.h>
#include <stdint.h>

#include "core.hpp"
#include "cpu/instructions.hpp"
#include "cpu/jump_buffer.hpp"
#include "cpu/kernel_abi.hpp"
#include "flameprobe/scope.h"
#include "interpose.hpp"
#include "is_mapped.hpp"

namespace flameprobe {
namespace {

using Jump = void(jmp_buf, int);
Jump* next_longjmp = nullptr;
Jump* next_longjmp_underscore = nullptr;
Jump* next_siglongjmp = nullptr;
Jump* next_longjmp_chk = nullptr;
using FindObject = int(void*, void*);
FindObject* find_object = nullptr;

constexpr uintptr_t page = 4096;
// Further apart means another stack, or a recursion that is not worth the time.
constexpr uintptr_t furthest = uintptr_t{1} << 20;

/// Whether this C library's jmp_buf is as cpu::saved_stack_pointer() reads it.
__attribute__((noinline)) bool can_read_jmp_buf() noexcept {
    jmp_buf buffer;
    const uintptr_t here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    if (::setjmp(buffer) != 0) return false;
    const uintptr_t saved = cpu::saved_stack_pointer(buffer);
    return saved <= here && here - saved < page;
}

/// Whether every page in between is mapped: between two stacks there may be a gap.
bool is_one_stack(uintptr_t low, uintptr_t high) noexcept {
    if (low >= high || high - low > furthest) return false;
    for (uintptr_t at = (low | (page - 1)) + 1; at < high; at += page) {
        if (!is_mapped(at)) return false;
    }
    return true;
}

/// Whether code is loaded there. Async-signal-safe (glibc manual, "Dynamic Linker Introspection"); since glibc 2.35,
/// and without it nothing is closed.
bool is_loaded(uintptr_t address) noexcept {
    alignas(16) unsigned char found[256];  // struct dl_find_object, with room for what is reserved in it
    return find_object(reinterpret_cast<void*>(address), found) == 0;
}

/// Closes the scopes whose records lie in [low, high), which is about to be popped. Words that do not seal a code
/// address are left alone all the same.
void close_scopes(uintptr_t low, uintptr_t high, const __jmp_buf_tag* still_needed) noexcept {
    const auto needed = reinterpret_cast<uintptr_t>(still_needed);
    for (uintptr_t at = (low + 7) & ~uintptr_t{7}; at + sizeof(flameprobe_scope) <= high; at += sizeof(uintptr_t)) {
        auto* const record = reinterpret_cast<flameprobe_scope*>(at);
        if (record->tag == 0 || (at + sizeof(uintptr_t) > needed && at < needed + sizeof *still_needed)) continue;
        const uintptr_t pc = flameprobe_scope_seal_(record, record->tag);
        if (pc >> cpu::user_address_bits != 0 || !is_loaded(pc)) continue;
        *const_cast<volatile uintptr_t*>(&record->tag) = 0;
    }
}

bool can_close_scopes() noexcept {
    static int known = 0;  // 0 not known yet, 1 yes, 2 no
    int can = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (can == 0) {
        can = find_object != nullptr && can_read_jmp_buf() ? 1 : 2;
        __atomic_store_n(&known, can, __ATOMIC_RELAXED);
    }
    return can == 1;
}

// Looked up at load time: a jump may be made out of a signal handler, where dlsym must not be called.
__attribute__((constructor(101))) void find_functions() {
    next(next_longjmp, "longjmp");
    next(next_longjmp_underscore, "_longjmp");
    next(next_siglongjmp, "siglongjmp");
    next(next_longjmp_chk, "__longjmp_chk");
    find_object = reinterpret_cast<FindObject*>(::dlsym(RTLD_DEFAULT, "_dl_find_object"));
}

/// `from` is where the stack of longjmp's caller begins: the frames of ours below it are needed until the end.
void before_jump(const __jmp_buf_tag* buffer, uintptr_t from) noexcept {
    // Programs that never opened a scope pay for one load.
    const flameprobe_core* core = core_if_loaded();
    if (core == nullptr || core->scopes_in_use() == 0 || !can_close_scopes()) return;
    const uintptr_t to = cpu::saved_stack_pointer(buffer);
    if (is_one_stack(from, to)) close_scopes(from, to, buffer);
}

}  // namespace
}  // namespace flameprobe

using namespace flameprobe;

// The caller's stack begins at the canonical frame address.
#define FLAMEPROBE_JUMP(cache, name)                                         \
    before_jump(buffer, reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa())); \
    next(cache, name)(buffer, value);                                        \
    __builtin_unreachable()

#undef longjmp
#undef siglongjmp
extern "C" void __longjmp_chk(jmp_buf buffer, int value) noexcept __attribute__((noreturn));

FLAMEPROBE_INTERPOSED void longjmp(jmp_buf buffer, int value) noexcept { FLAMEPROBE_JUMP(next_longjmp, "longjmp"); }
FLAMEPROBE_INTERPOSED void _longjmp(jmp_buf buffer, int value) noexcept {
    FLAMEPROBE_JUMP(next_longjmp_underscore, "_longjmp");
}
FLAMEPROBE_INTERPOSED void siglongjmp(sigjmp_buf buffer, int value) noexcept {
    FLAMEPROBE_JUMP(next_siglongjmp, "siglongjmp");
}
FLAMEPROBE_INTERPOSED void __longjmp_chk(jmp_buf buffer, int value) noexcept {
    FLAMEPROBE_JUMP(next_longjmp_chk, "__longjmp_chk");
}
