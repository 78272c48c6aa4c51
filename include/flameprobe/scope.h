/* A labelled span of the calling thread, kept where a sampling profiler finds it by itself: on the stack.
 *
 * Nothing here needs FlameProbe at run time: entering writes four words, leaving two, and there is no call, lock, clock
 * or allocation. FlameProbe copies the stack with each sample and recognises the records in the copy by their tag.
 * C11 or C++17, gcc or clang, 64-bit Linux. The layout is part of the ABI: docs/scopes.md, "What a guard leaves
 * behind".
 */
#ifndef FLAMEPROBE_SCOPE_H
#define FLAMEPROBE_SCOPE_H

#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
#define FLAMEPROBE_WORD_(value) reinterpret_cast<uintptr_t>(value)
extern "C" {
#else
#define FLAMEPROBE_WORD_(value) ((uintptr_t)(value))
#endif

/** An open scope. Must be a local variable of the function that enters it. A record on the heap is not seen; one in
 * another function's frame is rejected. Contents are private. */
struct flameprobe_scope {
    uintptr_t tag; /* binds all the rest, its own address and the pc of the function it is in; 0 when not open */
    const char* label;
    uintptr_t outer; /* the chain as it was when this one was entered: names the scopes around it, label by label */
};

/* The thread's open scopes in one word, 0 for none. It depends on every one of them: a record proves which others were
 * open around it without pointing at them. Weak, so that all translation units of a module, C and C++, share one.
 * Visible, so that modules that are linked with each other do too. Initial exec, so that no access calls
 * __tls_get_addr. */
extern __thread uintptr_t flameprobe_chain_v1;
__attribute__((weak, visibility("default"), tls_model("initial-exec"))) __thread uintptr_t flameprobe_chain_v1;

/* The chain inside a scope. A product, because exclusive or alone would let labels of different depths cancel out. */
#define FLAMEPROBE_CHAIN_OF(tag) ((tag)*UINT64_C(0x9e3779b97f4a7c15))

/* Its top 17 bits are not all zero, so that no three words that are zero or small look like a record. */
#define FLAMEPROBE_SCOPE_KEY UINT64_C(0x9d3f6a5172c4e8b5)

/* What `tag` must be. Given a tag, it yields the pc (exclusive or is its own inverse), which is how readers check it.
 */
__attribute__((always_inline)) static inline uintptr_t flameprobe_scope_seal_(const struct flameprobe_scope* scope,
                                                                              uintptr_t pc_or_tag) {
    const uintptr_t at = FLAMEPROBE_WORD_(scope);
    const uintptr_t label = FLAMEPROBE_WORD_(scope->label);
    const uintptr_t outer = scope->outer;
    /* Turned by different amounts, so that what differs between two of them cannot cancel out. The address is
     * turned by half: a record copied elsewhere yields a pc at least 4 GiB away. */
    return FLAMEPROBE_SCOPE_KEY ^ (at << 32 | at >> 32) ^ (label << 24 | label >> 40) ^ (outer << 40 | outer >> 24) ^
           pc_or_tag;
}

/* `pc` is any address in the function whose frame holds the record. */
__attribute__((always_inline)) static inline void flameprobe_scope_enter_at_(struct flameprobe_scope* scope,
                                                                             const char* label, uintptr_t pc) {
    scope->label = label;
    scope->outer = flameprobe_chain_v1;
    /* What a function returns lies on the stack in code that is not optimized. So it is never the tag itself:
     * with the words behind it that could be taken for a record. */
    scope->tag = flameprobe_scope_seal_(scope, 0) ^ pc;
    flameprobe_chain_v1 = FLAMEPROBE_CHAIN_OF(scope->tag);
    /* The stores must be in memory before what the scope is about: nothing else ever reads them. */
    __asm__ __volatile__("" : : "m"(*scope));
}

__attribute__((always_inline)) static inline uintptr_t flameprobe_here_(void) {
    uintptr_t pc;
#if defined(__x86_64__)
    __asm__ __volatile__("leaq 0(%%rip), %0" : "=r"(pc));
#elif defined(__aarch64__)
    __asm__ __volatile__("adr %0, ." : "=r"(pc));
#else
#error "FlameProbe scopes know x86-64 and aarch64 only"
#endif
    return pc;
}

/** Opens a scope. `label` must be a string literal or come from flameprobe_intern: it is read later, by address.
 *  A null label opens a scope that is not shown. Scopes of a thread nest: leave them in the opposite order.
 * Async-signal-safe. */
__attribute__((always_inline)) static inline void flameprobe_scope_enter(struct flameprobe_scope* scope,
                                                                         const char* label) {
    /* A jump that the compiler must reckon with but that is never emitted. The call at its end makes the function no
     * leaf, so that it gets a frame. A leaf keeps its variables in the red zone below the stack pointer (psABI 3.2.2):
     * no copy of the stack holds that. */
    __asm__ goto("" : : : : flameprobe_never);
    flameprobe_scope_enter_at_(scope, label, flameprobe_here_());
    return;
flameprobe_never:
    abort();
}

/** Closes a scope that was entered. Async-signal-safe. */
__attribute__((always_inline)) static inline void flameprobe_scope_leave(struct flameprobe_scope* scope) {
    scope->tag = 0;
    flameprobe_chain_v1 = scope->outer;
    __asm__ __volatile__("" : : "m"(*scope));
}

#ifdef __cplusplus
}
#else
/** FLAMEPROBE_SCOPE("label"); opens a scope until the end of the enclosing block, as the C++ guard does. */
#define FLAMEPROBE_SCOPE(label) FLAMEPROBE_SCOPE_AT_(label, __LINE__)
#define FLAMEPROBE_SCOPE_AT_(label, line) FLAMEPROBE_SCOPE_NAMED_(label, line)
#define FLAMEPROBE_SCOPE_NAMED_(label, line)                                                             \
    __attribute__((cleanup(flameprobe_scope_leave))) struct flameprobe_scope flameprobe_scope_##line##_; \
    flameprobe_scope_enter(&flameprobe_scope_##line##_, label)
#endif

#undef FLAMEPROBE_WORD_
#endif
