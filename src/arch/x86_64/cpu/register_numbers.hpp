#pragma once

namespace flameprobe {

/// DWARF's (psABI, figure 3.36): 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp, 8-15 r8-r15, 16 the return
/// address column, which in a sample holds the pc.
struct RegisterNumbers {
    static constexpr unsigned frame_pointer = 6, stack_pointer = 7, pc_column = 16, count = 17;
};

}  // namespace flameprobe
