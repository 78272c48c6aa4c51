#pragma once

#include <dlfcn.h>
#include <gnu/lib-names.h>

extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start, _end;  // of the linker: this library

namespace flameprobe {

inline bool is_ours(const void* address) noexcept {
    return address >= static_cast<const void*>(&__ehdr_start) && address < static_cast<const void*>(&_end);
}

/// Where another library has a dlsym of its own, and passes RTLD_NEXT on, what comes next to that one may be ours.
inline void* look_up_next(const char* name) noexcept {
    void* const found = ::dlsym(RTLD_NEXT, name);
    if (!is_ours(found)) return found;
    void* const libc = ::dlopen(LIBC_SO, RTLD_LAZY | RTLD_NOLOAD);
    return libc == nullptr ? nullptr : ::dlsym(libc, name);
}

/// The function that ours replaces: the next one in the loading order, looked up once.
template <class Function>
Function* next(Function*& cache, const char* name) noexcept {
    Function* found = __atomic_load_n(&cache, __ATOMIC_RELAXED);
    if (found == nullptr) {
        found = reinterpret_cast<Function*>(look_up_next(name));
        __atomic_store_n(&cache, found, __ATOMIC_RELAXED);
    }
    return found;
}

}  // namespace flameprobe

#define FLAMEPROBE_INTERPOSED extern "C" __attribute__((visibility("default")))
