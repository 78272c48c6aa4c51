// The breakpoints that a debugger writes into code. Async-signal-safe.
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace flameprobe::cpu {

/// What a debugger has put into the place of an instruction's beginning: int3.
using BreakpointCode = std::uint8_t;
inline bool is_breakpoint(BreakpointCode code) noexcept { return code == 0xcc; }

/// Moves a thread that was stopped by one back to it, and gives its address.
inline std::uint64_t step_back(ucontext_t& context) noexcept {
    return static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RIP] -= 1);
}

}  // namespace flameprobe::cpu
