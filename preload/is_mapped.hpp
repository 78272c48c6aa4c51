#pragma once

#include <stdint.h>
#include <sys/syscall.h>

#include "capture/handler/raw_system_call.hpp"

namespace flameprobe {

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
