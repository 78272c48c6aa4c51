// The breakpoints that a debugger writes into code. Async-signal-safe.
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace flameprobe::cpu {

/// What a debugger has put into the place of an instruction: brk.
using BreakpointCode = std::uint32_t;
inline bool is_breakpoint(BreakpointCode code) noexcept { return (code & 0xffe0001f) == 0xd4200000; }

/// Moves a thread that was stopped by one back to it, where this CPU leaves it, and gives its address.
inline std::uint64_t step_back(ucontext_t& context) noexcept { return context.uc_mcontext.pc; }

}  // namespace flameprobe::cpu
