/* Requests: scopes whose every passing is timed, so that it can be asked which of them were slow, and why.
 *
 * Nothing here needs FlameProbe at run time. Where it is not loaded, a request is a scope (scope.h) and two branches.
 * Where it is, entering and leaving are a call and a reading of the CPU's counter each. Leaving writes 24 bytes into
 * memory of the thread's own. No lock, no allocation, no call of libc. C11 or C++17, gcc or clang, 64-bit Linux. */
#ifndef FLAMEPROBE_REQUEST_H
#define FLAMEPROBE_REQUEST_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#include "flameprobe/scope.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One passing, from its begin to its end. As flameprobe_scope: a local variable of the function that begins it.
 *  Contents are private. */
struct flameprobe_request {
    struct flameprobe_scope scope;
    uint64_t begin; /* 0: it is not timed */
    int failed;
};

typedef uint64_t (*flameprobe_passing_begin_call_)(void);
typedef void (*flameprobe_passing_end_call_)(const char* label, uint64_t begin, int failed);

/* What begins and ends a passing: null where FlameProbe is not loaded. At the first request of a module they are looked
 * up. One pair in each module, as in count.h. */
extern flameprobe_passing_begin_call_ flameprobe_passing_begin_v1;
extern flameprobe_passing_end_call_ flameprobe_passing_end_v1;
__attribute__((weak, visibility("hidden"))) uint64_t flameprobe_passing_first_(void);
__attribute__((weak, visibility("hidden"))) flameprobe_passing_begin_call_ flameprobe_passing_begin_v1 =
    flameprobe_passing_first_;
__attribute__((weak, visibility("hidden"))) flameprobe_passing_end_call_ flameprobe_passing_end_v1;

/* Weak, since libc has it from glibc 2.34 on, and libdl before: without it no request is timed. */
static void* flameprobe_find_passing_(void* handle, const char* name) __attribute__((weakref("dlsym")));

__attribute__((weak, visibility("hidden"))) uint64_t flameprobe_passing_first_(void) {
    union {
        void* address;
        flameprobe_passing_begin_call_ begin;
        flameprobe_passing_end_call_ end;
    } begin, end;
    begin.address = end.address = NULL;
    if (flameprobe_find_passing_) {
        begin.address = flameprobe_find_passing_(NULL, "flameprobe_passing_begin"); /* null: RTLD_DEFAULT */
        end.address = flameprobe_find_passing_(NULL, "flameprobe_passing_end");
        if (begin.address == NULL || end.address == NULL) {
            (void)dlerror(); /* is no concern of the program's */
            begin.address = NULL;
        }
    }
    __atomic_store_n(&flameprobe_passing_end_v1, end.end, __ATOMIC_RELEASE);
    __atomic_store_n(&flameprobe_passing_begin_v1, begin.begin, __ATOMIC_RELEASE);
    return begin.begin == NULL ? 0 : begin.begin();
}

/** Begins a request: opens its scope, and times it if the program is being sampled. `label` as in
 *  flameprobe_scope_enter. At most 99 labels of a process are kept apart, cut to 63 bytes; requests of further ones are
 *  counted together as "(too many names)". Requests nest, in each other and in scopes.
 *  Async-signal-safe, but for the first one of a program's module. */
__attribute__((always_inline)) static inline void flameprobe_request_enter(struct flameprobe_request* request,
                                                                           const char* label) {
    const flameprobe_passing_begin_call_ begin = __atomic_load_n(&flameprobe_passing_begin_v1, __ATOMIC_RELAXED);
    flameprobe_scope_enter(&request->scope, label);
    request->failed = 0;
    request->begin = begin == NULL ? 0 : begin();
}

/** Marks a request that was entered as failed: it is counted among the label's errors. Async-signal-safe. */
__attribute__((always_inline)) static inline void flameprobe_request_failed(struct flameprobe_request* request) {
    request->failed = 1;
}

/** Ends a request that was entered, on the thread that entered it. Async-signal-safe. */
__attribute__((always_inline)) static inline void flameprobe_request_leave(struct flameprobe_request* request) {
    if (request->begin != 0)
        __atomic_load_n(&flameprobe_passing_end_v1, __ATOMIC_ACQUIRE)(request->scope.label, request->begin,
                                                                      request->failed);
    flameprobe_scope_leave(&request->scope);
}

#ifdef __cplusplus
}
#else
/** FLAMEPROBE_REQUEST("label"); begins a request that lasts until the end of the enclosing block. */
#define FLAMEPROBE_REQUEST(label) FLAMEPROBE_REQUEST_AT_(label, __LINE__)
#define FLAMEPROBE_REQUEST_AT_(label, line) FLAMEPROBE_REQUEST_NAMED_(label, line)
#define FLAMEPROBE_REQUEST_NAMED_(label, line)                                                                 \
    __attribute__((cleanup(flameprobe_request_leave))) struct flameprobe_request flameprobe_request_##line##_; \
    flameprobe_request_enter(&flameprobe_request_##line##_, label)
#endif

#endif
