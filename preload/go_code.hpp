#pragma once

#include <stdint.h>

namespace flameprobe {

/// Does this address lie in a module that Go's linker made? Async-signal-safe.
bool is_go_code(uintptr_t address) noexcept;

}  // namespace flameprobe
