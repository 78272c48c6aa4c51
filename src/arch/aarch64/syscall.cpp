// syscall(2) as preload/system_call.cpp wants it: it jumps to the next function; for the numbers whose bits are set in
// flameprobe_wrapped_calls_, and in the first call of all, to what flameprobe_before_syscall_ gives.
// The eight registers that can hold arguments are kept over the call. x16 may be lost at any call (AAPCS64, 6.1.1), and
// a jump through it is one that BTI lets arrive at a function's `bti c`.
asm(R"(
    .pushsection .text
    .globl syscall
    .type syscall, @function
    .p2align 4
syscall:
    .cfi_startproc
    hint #34    // bti c
    adrp x16, flameprobe_next_syscall_
    ldr x16, [x16, #:lo12:flameprobe_next_syscall_]
    cbz x16, 1f
    cmp x0, #511
    b.hi 2f
    adrp x17, flameprobe_wrapped_calls_
    add x17, x17, #:lo12:flameprobe_wrapped_calls_
    lsr x9, x0, #6
    ldr x9, [x17, x9, lsl #3]
    lsr x9, x9, x0
    tbnz x9, #0, 1f
2:  br x16
1:  stp x29, x30, [sp, #-80]!
    .cfi_def_cfa_offset 80
    .cfi_offset 29, -80
    .cfi_offset 30, -72
    mov x29, sp
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    bl flameprobe_before_syscall_
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldp x2, x3, [sp, #32]
    ldp x4, x5, [sp, #48]
    ldp x6, x7, [sp, #64]
    ldp x29, x30, [sp], #80
    .cfi_restore 29
    .cfi_restore 30
    .cfi_def_cfa_offset 0
    br x16
    .cfi_endproc
    .size syscall, .-syscall
    .popsection
)");
