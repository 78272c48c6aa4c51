// syscall(2) as preload/system_call.cpp wants it: it jumps to the next function; for the numbers whose bits are set in
// flameprobe_wrapped_calls_, and in the first call of all, to what flameprobe_before_syscall_ gives.

// The six registers that can hold arguments are kept over the call; 8 more bytes align the stack for it.
asm(R"(
    .pushsection .text
    .globl syscall
    .type syscall, @function
    .p2align 4
syscall:
    .cfi_startproc
    endbr64
    movq flameprobe_next_syscall_(%rip), %rax
    testq %rax, %rax
    je 1f
    cmpq $511, %rdi
    ja 2f
    leaq flameprobe_wrapped_calls_(%rip), %r11
    btq %rdi, (%r11)
    jc 1f
2:  jmpq *%rax
1:  pushq %rdi
    pushq %rsi
    pushq %rdx
    pushq %rcx
    pushq %r8
    pushq %r9
    subq $8, %rsp
    .cfi_adjust_cfa_offset 56
    callq flameprobe_before_syscall_
    addq $8, %rsp
    popq %r9
    popq %r8
    popq %rcx
    popq %rdx
    popq %rsi
    popq %rdi
    .cfi_adjust_cfa_offset -56
    jmpq *%rax
    .cfi_endproc
    .size syscall, .-syscall
    .popsection
)");
