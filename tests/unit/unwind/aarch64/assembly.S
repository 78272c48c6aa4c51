// Functions as people write them by hand: with CFI, without, with and without a frame record.
// Each calls the function in x0, or returns to its caller after a few instructions.
    .text

    .globl assembly_with_cfi
    .type assembly_with_cfi, %function
assembly_with_cfi:
    .cfi_startproc
    stp x19, x30, [sp, #-48]!
    .cfi_def_cfa_offset 48
    .cfi_offset 19, -48
    .cfi_offset 30, -40
    mov x19, #0
    blr x0
    ldp x19, x30, [sp], #48
    .cfi_restore 19
    .cfi_restore 30
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
    .size assembly_with_cfi, .-assembly_with_cfi

    .p2align 12
    .globl assembly_leaf
    .type assembly_leaf, %function
assembly_leaf:
    mov x0, #3
    sub sp, sp, #32
    str x1, [sp]
    add x0, x0, x0
    ldr x1, [sp]
    add sp, sp, #32
    ret
    .size assembly_leaf, .-assembly_leaf

    .globl assembly_calls_back
    .type assembly_calls_back, %function
assembly_calls_back:
    str x30, [sp, #-16]!
    blr x0
    ldr x30, [sp], #16
    ret
    .size assembly_calls_back, .-assembly_calls_back

    .p2align 14
    .globl assembly_with_record
    .type assembly_with_record, %function
assembly_with_record:
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    sub sp, sp, #48
    blr x0
    mov sp, x29
    ldp x29, x30, [sp], #16
    ret
    .size assembly_with_record, .-assembly_with_record

    // The last instruction is a system call: a thread in the kernel stands past the function's end.
    .p2align 12
    .globl assembly_ends_in_syscall
    .type assembly_ends_in_syscall, %function
assembly_ends_in_syscall:
    .cfi_startproc
    mov x8, #172
    svc #0
    .cfi_endproc
    .size assembly_ends_in_syscall, .-assembly_ends_in_syscall
    ret

    .section .note.GNU-stack, "", %progbits
