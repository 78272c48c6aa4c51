#include "capture/handler/raw_system_call.hpp"

// The bytes are those by which unwinders and debuggers recognise signal frames; the nop is for those that look up pc -
// 1.
asm(".text\n"
    ".balign 16\n"
    "nop\n"
    ".globl flameprobe_signal_return\n"
    ".hidden flameprobe_signal_return\n"
    ".type flameprobe_signal_return, @function\n"
    "flameprobe_signal_return:\n"
    "movq $15, %rax\n"
    "syscall\n"
    ".size flameprobe_signal_return, . - flameprobe_signal_return\n");
