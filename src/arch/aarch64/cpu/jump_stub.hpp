// A function that jumps to an address in memory, with all arguments as they are.
#pragma once

/// Defines `function`, a hidden symbol, as a jump to the address in the variable `slot`. Both are names of the linker.
/// x16 is free at the start of a function (AAPCS64, section 6.1.1).
#define FLAMEPROBE_JUMP_STUB(function, slot) \
    asm(".pushsection .text\n"               \
        ".globl " function                   \
        "\n"                                 \
        ".hidden " function                  \
        "\n"                                 \
        ".type " function                    \
        ", %function\n"                      \
        ".balign 4\n" function               \
        ":\n"                                \
        ".cfi_startproc\n"                   \
        "hint #34\n" /* bti c */             \
        "adrp x16, " slot                    \
        "\n"                                 \
        "ldr x16, [x16, :lo12:" slot         \
        "]\n"                                \
        "br x16\n"                           \
        ".cfi_endproc\n"                     \
        ".size " function ", . - " function  \
        "\n"                                 \
        ".popsection")
