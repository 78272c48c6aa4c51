#include "capture/handler/raw_system_call.hpp"

// The bytes are those by which unwinders and debuggers recognise signal frames, as in the vdso's __kernel_rt_sigreturn;
// the nop is for those that look up pc - 1.
asm(".text\n"
    ".balign 16\n"
    "nop\n"
    ".globl flameprobe_signal_return\n"
    ".hidden flameprobe_signal_return\n"
    ".type flameprobe_signal_return, @function\n"
    "flameprobe_signal_return:\n"
    "mov x8, #139\n"
    "svc #0\n"
    ".size flameprobe_signal_return, . - flameprobe_signal_return\n");
