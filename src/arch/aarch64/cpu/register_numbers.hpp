#pragma once

namespace flameprobe {

/// DWARF's ("DWARF for the Arm 64-bit Architecture"): x0 to x30, 31 sp, 32 pc. The kernel's order is the same.
struct RegisterNumbers {
    static constexpr unsigned frame_pointer = 29, stack_pointer = 31, pc_column = 32, count = 33;
};

}  // namespace flameprobe
