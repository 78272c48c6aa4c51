/* Hosts that lock themselves in: sandbox strict | filter | everyone | kill | fault. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "host.h"

/* From here on only read, write, exit and sigreturn for this thread; anything else is SIGKILL. */
static void strict_child(void) {
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    const unsigned long value = crunch(100000000);
    const char* text = value != 0 ? "strict worked\n" : "wrong\n";
    if (write(1, text, strlen(text)) < 0) syscall(SYS_exit, 2);
    syscall(SYS_exit, 0);
}

static void strict(void) {
    int status = 0;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) strict_child();
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* What a sandboxed worker may do; everything else has the outcome `otherwise`. */
static void allow_little(unsigned flags, unsigned otherwise) {
#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(read),
        ALLOW(write),
        ALLOW(clock_gettime),
        ALLOW(futex),
        ALLOW(exit),
        ALLOW(exit_group),
        ALLOW(rt_sigreturn),
        ALLOW(munmap),
        ALLOW(brk),
        BPF_STMT(BPF_RET | BPF_K, otherwise),
    };
    const struct sock_fprog program = {sizeof code / sizeof *code, code};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0);
}

static NOINLINE void sandboxed_work(void) {
    work_ms(300);
    __asm__ volatile("");
}

int main(int argc, char** argv) {
    const char* mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "strict") == 0)
        strict();
    else if (strcmp(mode, "filter") == 0)
        allow_little(0, SECCOMP_RET_ERRNO | EPERM);
    else if (strcmp(mode, "everyone") == 0)
        allow_little(SECCOMP_FILTER_FLAG_TSYNC, SECCOMP_RET_ERRNO | EPERM); /* every thread, ours included */
    else if (strcmp(mode, "kill") == 0 || strcmp(mode, "fault") == 0)
        allow_little(0, SECCOMP_RET_KILL_PROCESS);
    else
        return 2;
    sandboxed_work();
    const char* text = "done\n";
    if (write(1, text, strlen(text)) < 0) return 3; /* printf would ask what kind of file it writes to */
    if (strcmp(mode, "fault") == 0) *(volatile int*)strlen("") = 1;
    return 0;
}
