// Whether a thread has left a system call: by its registers, where aarch64 must read code.
#pragma once

#include "base/registers.hpp"

namespace flameprobe::cpu {

/// may_leave_system_call() is exact here.
inline bool left_system_call(const Registers& /*registers*/) noexcept { return true; }

/// Whether the instruction before the pc is a system call that has just returned; see may_leave_system_call().
inline bool after_system_call(const Registers& registers) noexcept {
    constexpr unsigned rcx = 2;
    return registers.value[rcx] == registers.pc();
}

}  // namespace flameprobe::cpu
