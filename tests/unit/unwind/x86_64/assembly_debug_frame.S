# A function whose CFI is in .debug_frame only, as where .eh_frame was switched off.
    .cfi_sections .debug_frame
    .text
    .globl assembly_with_debug_frame
    .type assembly_with_debug_frame, @function
assembly_with_debug_frame:
    .cfi_startproc
    push %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    sub $64, %rsp
    .cfi_adjust_cfa_offset 64
    xor %ebp, %ebp
    call *%rdi
    add $64, %rsp
    .cfi_adjust_cfa_offset -64
    pop %rbp
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbp
    ret
    .cfi_endproc
    .size assembly_with_debug_frame, .-assembly_with_debug_frame

    .section .note.GNU-stack, "", @progbits
