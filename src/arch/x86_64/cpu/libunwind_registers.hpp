#pragma once

#include <libunwind.h>

namespace flameprobe::cpu {

/// The registers that a Cursor has, by libunwind's numbers.
inline constexpr unw_regnum_t unwound_pc = UNW_X86_64_RIP, unwound_sp = UNW_X86_64_RSP, unwound_fp = UNW_X86_64_RBP,
                              unwound_third = UNW_X86_64_RBX;

}  // namespace flameprobe::cpu
