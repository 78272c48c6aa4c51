// syscall(2) as preload/system_call.cpp wants it: it jumps to the next function; for those that are numbered here, and
// in the first call of all, to what flameprobe_before_syscall_ gives.
#include <sys/syscall.h>

static_assert(SYS_seccomp == 317 && SYS_sigaltstack == 131 && SYS_execve == 59 && SYS_execveat == 322);

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
    cmpq $317, %rdi
    je 1f
    cmpq $131, %rdi
    je 1f
    cmpq $59, %rdi
    je 1f
    cmpq $322, %rdi
    je 1f
    testq %rax, %rax
    je 1f
    jmpq *%rax
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
