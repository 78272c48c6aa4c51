// What a jump stub consists of.
#pragma once

/// Assembler text: a jump to the address in the variable `slot`, a name of the linker, with all arguments as they are.
#define FLAMEPROBE_JUMP_THROUGH(slot) "endbr64\n jmp *" slot "(%rip)\n"
