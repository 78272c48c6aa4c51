# Stacks made by hand: what their first function returns to is chosen by the caller.
        .text

# start_on(stack top, function, return address, argument): never returns.
        .globl start_on
        .type start_on, @function
start_on:
        mov     %rdi, %rsp
        push    %rdx
        xor     %ebp, %ebp
        mov     %rcx, %rdi
        jmp     *%rsi
        .size start_on, . - start_on

# As Boost's make_fcontext ends; no unwind tables.
        .globl exits_as_boost
        .type exits_as_boost, @function
        jmp     *%rbx
exits_as_boost:
        xor     %rdi, %rdi
        call    _exit@PLT
        hlt
        .size exits_as_boost, . - exits_as_boost

# As corosensei's trampoline: the tables lead from here to the stack of whoever resumed the coroutine.
        .globl linked_trampoline
        .type linked_trampoline, @function
linked_trampoline:
        .cfi_startproc
        .cfi_signal_frame
        .cfi_escape 0x0f, 5, 0x76, 0x00, 0x06, 0x23, 0x18
        .cfi_offset rbx, -8
        .cfi_offset rip, -16
        .cfi_offset rbp, -24
        jmp     *%rsi
        .globl behind_linked_trampoline
behind_linked_trampoline:
        int3
        .cfi_endproc
        .size linked_trampoline, . - linked_trampoline

# call_on(argument, -, function, stack top): as psm's rust_psm_on_stack.
        .globl call_on
        .type call_on, @function
call_on:
        .cfi_startproc
        push    %rbp
        .cfi_def_cfa %rsp, 16
        .cfi_offset %rbp, -16
        mov     %rsp, %rbp
        .cfi_def_cfa_register %rbp
        mov     %rcx, %rsp
        call    *%rdx
        mov     %rbp, %rsp
        pop     %rbp
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size call_on, . - call_on

        .section .note.GNU-stack, "", @progbits
