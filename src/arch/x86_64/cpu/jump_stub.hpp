// A function that jumps to an address in memory, with all arguments as they are.
#pragma once

/// Defines `function`, a hidden symbol, as a jump to the address in the variable `slot`. Both are names of the linker.
#define FLAMEPROBE_JUMP_STUB(function, slot)       \
    asm(".pushsection .text\n"                     \
        ".globl " function                         \
        "\n"                                       \
        ".hidden " function                        \
        "\n"                                       \
        ".type " function ", %function\n" function \
        ":\n"                                      \
        ".cfi_startproc\n"                         \
        "endbr64\n"                                \
        "jmp *" slot                               \
        "(%rip)\n"                                 \
        ".cfi_endproc\n"                           \
        ".size " function ", . - " function        \
        "\n"                                       \
        ".popsection")
