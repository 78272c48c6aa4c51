#pragma once

#include <dlfcn.h>

namespace flameprobe {

/// The function that ours replaces: the next one in the loading order, looked up once.
template <class Function>
Function* next(Function*& cache, const char* name) noexcept {
    Function* found = __atomic_load_n(&cache, __ATOMIC_RELAXED);
    if (found == nullptr) {
        found = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
        __atomic_store_n(&cache, found, __ATOMIC_RELAXED);
    }
    return found;
}

}  // namespace flameprobe

#define FLAMEPROBE_INTERPOSED extern "C" __attribute__((visibility("default")))
