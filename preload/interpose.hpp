#pragma once

#include <dlfcn.h>
#include <gnu/lib-names.h>
#include <link.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "capture/handler/raw_system_call.hpp"

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

struct Segment {
    uintptr_t begin = 0, end = 0;
    bool has(uintptr_t address) const noexcept { return address >= begin && address < end; }
};
/// The part of its file that is mapped together with a function. A sanitizer may have dl_iterate_phdr, and not have
/// begun.
inline Segment segment_of(void* function) noexcept {
    Dl_info info;
    if (::dladdr(function, &info) == 0) return {};
    const auto begin = reinterpret_cast<uintptr_t>(info.dli_fbase), code = reinterpret_cast<uintptr_t>(function);
    const auto* const file = static_cast<const ElfW(Ehdr)*>(info.dli_fbase);
    const auto* const headers = reinterpret_cast<const ElfW(Phdr)*>(begin + file->e_phoff);
    for (int i = 0; i < file->e_phnum; ++i)
        if (headers[i].p_type == PT_LOAD && code - begin - headers[i].p_vaddr < headers[i].p_memsz)
            return {begin + headers[i].p_vaddr, begin + headers[i].p_vaddr + headers[i].p_memsz};
    return {};
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

/// The kernel reads the signal set before it sees that `how` is invalid: EFAULT if nothing is mapped there, else
/// EINVAL. Any process that uses siglongjmp is allowed this system call. Async-signal-safe.
inline bool is_mapped(uintptr_t address) noexcept {
    constexpr long nonsense = -1, set_size = 8, invalid = -22;
    return handler::system_call(SYS_rt_sigprocmask, nonsense, address, 0L, set_size) == invalid;
}

/// Both ends of it, which may lie on two pages; so for null, which stands for none. Of eight bytes at least.
template <class T>
bool is_readable(const T* object) noexcept {
    const auto begin = reinterpret_cast<uintptr_t>(object);
    return object == nullptr || (is_mapped(begin) && is_mapped(begin + sizeof(T) - 8));
}

}  // namespace flameprobe

#define FLAMEPROBE_INTERPOSED extern "C" __attribute__((visibility("default")))
