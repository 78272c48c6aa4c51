/* Units of work: what a program has done (requests, packets, rows), so that the CPU time of each unit can be shown.
 * Needs libc only; where libflameprobe.so is not loaded a call does nothing. C11 or C++17, gcc or clang. */
#ifndef FLAMEPROBE_COUNT_H
#define FLAMEPROBE_COUNT_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*flameprobe_count_call_)(const char* name, uint64_t amount);

/* At the first call, looks up the function to which later calls go. One pointer in each module: an executable that does
 * not export its symbols cannot find a preloaded library's function otherwise. */
extern flameprobe_count_call_ flameprobe_count_v1;
__attribute__((weak, visibility("hidden"))) void flameprobe_count_first_(const char* name, uint64_t amount);
__attribute__((weak, visibility("hidden"))) flameprobe_count_call_ flameprobe_count_v1 = flameprobe_count_first_;

/* Weak, since libc has it from glibc 2.34 on, and libdl before: without it nothing is counted. */
static void* flameprobe_find_symbol_(void* handle, const char* name) __attribute__((weakref("dlsym")));

__attribute__((weak, visibility("hidden"))) void flameprobe_count_nothing_(const char* name, uint64_t amount) {
    (void)name, (void)amount;
}

__attribute__((weak, visibility("hidden"))) void flameprobe_count_first_(const char* name, uint64_t amount) {
    union {
        void* address;
        flameprobe_count_call_ function;
    } found;
    found.address = NULL;
    if (flameprobe_find_symbol_) {
        found.address = flameprobe_find_symbol_(NULL, "flameprobe_count_units"); /* null: RTLD_DEFAULT */
        if (found.address == NULL) (void)dlerror();                              /* is no concern of the program's */
    }
    if (found.address == NULL) found.function = flameprobe_count_nothing_;
    __atomic_store_n(&flameprobe_count_v1, found.function, __ATOMIC_RELAXED);
    found.function(name, amount);
}

/** Adds `amount` (0 and more) to the units called `name`, over all threads. `name` must be a string literal or come
 *  from flameprobe_intern: it is known by its address. Equal texts are one count. At most 255 names in a process, cut
 *  to 63 bytes; further ones are counted together as "(too many names)". What is counted while sampling is on is in
 *  the profile.
 *  Thread-safe, without a lock: each thread adds in memory of its own. Async-signal-safe, but for the first call in a
 *  program's module and in a thread. About as cheap as a scope. */
static inline void flameprobe_count(const char* name, uint64_t amount) {
    __atomic_load_n(&flameprobe_count_v1, __ATOMIC_RELAXED)(name, amount);
}

#ifdef __cplusplus
}
#endif

#endif
