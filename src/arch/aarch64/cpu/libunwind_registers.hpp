#pragma once

#include <libunwind.h>

namespace flameprobe::cpu {

/// The registers that a Cursor has, by libunwind's numbers.
inline constexpr unw_regnum_t unwound_pc = UNW_AARCH64_PC, unwound_sp = UNW_AARCH64_SP, unwound_fp = UNW_AARCH64_X29,
                              unwound_third = UNW_AARCH64_X30;

}  // namespace flameprobe::cpu
