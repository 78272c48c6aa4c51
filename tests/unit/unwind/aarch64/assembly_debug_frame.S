// A function whose CFI is in .debug_frame only, as where .eh_frame was switched off.
    .cfi_sections .debug_frame
    .text
    .globl assembly_with_debug_frame
    .type assembly_with_debug_frame, %function
assembly_with_debug_frame:
    .cfi_startproc
    stp x29, x30, [sp, #-80]!
    .cfi_def_cfa_offset 80
    .cfi_offset 29, -80
    .cfi_offset 30, -72
    mov x29, #0
    blr x0
    ldp x29, x30, [sp], #80
    .cfi_restore 29
    .cfi_restore 30
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
    .size assembly_with_debug_frame, .-assembly_with_debug_frame

    .section .note.GNU-stack, "", %progbits
