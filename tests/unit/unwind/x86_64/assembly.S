# Functions as people write them by hand: with CFI, without, with and without a frame record.
# Each calls the function in %rdi, or returns to its caller after a few instructions.
    .text

    .globl assembly_with_cfi
    .type assembly_with_cfi, @function
assembly_with_cfi:
    .cfi_startproc
    push %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbx, 0
    sub $32, %rsp
    .cfi_adjust_cfa_offset 32
    xor %ebx, %ebx
    call *%rdi
    add $32, %rsp
    .cfi_adjust_cfa_offset -32
    pop %rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbx
    ret
    .cfi_endproc
    .size assembly_with_cfi, .-assembly_with_cfi

    .p2align 12
    .globl assembly_leaf
    .type assembly_leaf, @function
assembly_leaf:
    mov $3, %eax
    push %rdx
    push %rcx
    sub $24, %rsp
    add %eax, %eax
    add $24, %rsp
    pop %rcx
    pop %rdx
    ret
    .size assembly_leaf, .-assembly_leaf

    .globl assembly_calls_back
    .type assembly_calls_back, @function
assembly_calls_back:
    push %rsi
    movq $0, (%rsp)
    call *%rdi
    pop %rsi
    ret
    .size assembly_calls_back, .-assembly_calls_back

    .p2align 13
    .globl assembly_with_record
    .type assembly_with_record, @function
assembly_with_record:
    push %rbp
    mov %rsp, %rbp
    sub $48, %rsp
    call *%rdi
    leave
    ret
    .size assembly_with_record, .-assembly_with_record

    # The last instruction is a system call: a thread in the kernel stands past the function's end.
    .p2align 12
    .globl assembly_ends_in_syscall
    .type assembly_ends_in_syscall, @function
assembly_ends_in_syscall:
    .cfi_startproc
    mov $39, %eax
    syscall
    .cfi_endproc
    .size assembly_ends_in_syscall, .-assembly_ends_in_syscall
    ret

    .section .note.GNU-stack, "", @progbits
