# Functions as hand-written assembly has them: without a size, some without a type.
    .text
    .globl first_unsized
first_unsized:
    nop
    nop
    .type second_unsized, @function
    .globl second_unsized
second_unsized:
    nop
    ret
    .globl sized
    .type sized, @function
sized:
    nop
inner_label:
    nop
    ret
    .size sized, . - sized
    .globl __alias
    .globl alias
    .type __alias, @function
    .type alias, @function
    .type weak_alias, @function
    .weak weak_alias
__alias:
alias:
weak_alias:
    ret
    .size __alias, 1
    .size alias, 1
    .size weak_alias, 1
gap:
    ret

    .section .text.other, "ax"
    .globl other_unsized
other_unsized:
    ret
    .section .note.GNU-stack, "", @progbits
