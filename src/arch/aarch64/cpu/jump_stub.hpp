// What a jump stub consists of.
#pragma once

/// Assembler text: a jump to the address in the variable `slot`, a name of the linker, with all arguments as they are.
/// x16 is free at the start of a function (AAPCS64, section 6.1.1); the hint is `bti c`.
#define FLAMEPROBE_JUMP_THROUGH(slot) "hint #34\n adrp x16, " slot "\n ldr x16, [x16, :lo12:" slot "]\n br x16\n"
