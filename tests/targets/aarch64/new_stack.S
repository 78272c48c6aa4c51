// Stacks made by hand: what their first function returns to is chosen by the caller.
        .text

// start_on(stack top, function, return address, argument): never returns.
        .globl start_on
        .type start_on, %function
start_on:
        mov     sp, x0
        mov     x30, x2
        mov     x29, xzr
        mov     x0, x3
        br      x1
        .size start_on, . - start_on

// As Boost's make_fcontext ends; no unwind tables.
        .globl exits_as_boost
        .type exits_as_boost, %function
        ret
exits_as_boost:
        mov     x0, #0
        bl      _exit
        .size exits_as_boost, . - exits_as_boost

// As corosensei's trampoline: the tables lead from here to the stack of whoever resumed the coroutine.
        .globl linked_trampoline
        .type linked_trampoline, %function
linked_trampoline:
        .cfi_startproc
        .cfi_signal_frame
        .cfi_escape 0x0f, 5, 0x8d, 0x00, 0x06, 0x23, 0x20
        .cfi_offset x19, -16
        .cfi_offset x30, -24
        .cfi_offset x29, -32
        br      x3
        .globl behind_linked_trampoline
behind_linked_trampoline:
        brk     #0
        .cfi_endproc
        .size linked_trampoline, . - linked_trampoline

// call_on(argument, -, function, stack top): as psm's rust_psm_on_stack.
        .globl call_on
        .type call_on, %function
call_on:
        .cfi_startproc
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa sp, 16
        mov     x29, sp
        .cfi_def_cfa x29, 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     sp, x3
        blr     x2
        mov     sp, x29
        .cfi_def_cfa sp, 16
        ldp     x29, x30, [sp], #16
        .cfi_def_cfa sp, 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size call_on, . - call_on

        .section .note.GNU-stack, "", %progbits
