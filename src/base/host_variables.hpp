#pragma once

#include <dlfcn.h>

namespace flameprobe {

/// libc's variable `name`, as the whole program has it; zero if there is none. An executable that uses one has it in
/// its own memory (a copy relocation). The core, which is opened with RTLD_DEEPBIND, would see libc's, which nobody
/// sets.
/// It takes the dynamic linker's lock, which a thread of the host may hold: not for the collector.
template <class Type>
Type host_variable(const char* name) {
    void* const program = ::dlopen(nullptr, RTLD_LAZY);  // RTLD_DEFAULT would begin with the caller's own scope
    const auto* const found = program == nullptr ? nullptr : static_cast<const Type*>(::dlsym(program, name));
    return found == nullptr ? Type{} : *found;
}

}  // namespace flameprobe
