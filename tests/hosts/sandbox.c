/* Hosts that lock themselves in: sandbox strict | filter | everyone | kill | fault | kill_everyone | deny_everyone |
   child | no_counter. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "host.h"

/* From here on only read, write, exit and sigreturn for this thread; anything else is SIGKILL. */
static void strict_child(void) {
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    const unsigned long value = crunch(30000000);
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

static void enter(struct sock_filter* code, unsigned short length, unsigned flags) {
    const struct sock_fprog program = {length, code};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0);
}
#define ENTER(code, flags) enter(code, sizeof(code) / sizeof *(code), flags)

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
    ENTER(code, flags);
}

static NOINLINE void sandboxed_work(void) {
    work_ms(70);
    __asm__ volatile("");
}
static NOINLINE void open_work(void) {
    work_ms(50);
    __asm__ volatile("");
}

/* No handler can return in it, so none may run. Entered the older way. */
static void allow_no_return(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(write),
        ALLOW(clock_gettime),
        ALLOW(exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    const struct sock_fprog program = {sizeof code / sizeof *code, code};
    open_work();
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

/* One filter for all threads, as libseccomp puts it there. Only what these threads do themselves from then on is
   allowed, and anything else the end of the process. */
static void kill_for_everyone(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(write),
        ALLOW(clock_gettime),
        ALLOW(futex),
        ALLOW(exit),
        ALLOW(exit_group),
        ALLOW(rt_sigreturn),
        ALLOW(rt_sigprocmask), /* pthread_exit */
        ALLOW(madvise),
        ALLOW(munmap),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    ENTER(code, SECCOMP_FILTER_FLAG_TSYNC);
}

/* Everything is allowed but what a server never does: what a hardened server has. */
static void deny_for_everyone(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    ENTER(code, SECCOMP_FILTER_FLAG_TSYNC);
}

/* A child that no libc function made, as sandboxes have them: it ends at once, and waits for no other. */
static void child_of_no_fork(void) {
    struct rusage used;
    int status = 0;
    const long child = syscall(SYS_clone, SIGCHLD, 0L, 0L, 0L, 0L);
    CHECK(child >= 0);
    if (child == 0) {
        const struct sock_filter kill_all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
        struct sock_filter code[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            ALLOW(exit_group),
            kill_all,
        };
        const struct sock_fprog program = {sizeof code / sizeof *code, code};
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        _exit(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0 ? 5 : 1);
    }
    CHECK(wait4((pid_t)child, &status, 0, &used) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
    CHECK(used.ru_utime.tv_sec < 2);
}

static void* live_briefly(void* unused) {
    crunch(20000);
    return unused;
}

/* No code may read the CPU's counter from here on, as recorders that replay have it. libc's clocks do. */
static int keep_off_counter(void) {
    pthread_t thread;
    int status = 0;
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV) != 0) return 77;
    for (int i = 0; i < 20; ++i) {
        CHECK(pthread_create(&thread, NULL, live_briefly, NULL) == 0 && pthread_join(thread, NULL) == 0);
    }
    const pid_t child = fork();
    if (child == 0) {
        sandboxed_work();
        exit(5);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
    return 0;
}

static atomic_int locked_in;

static void* work_before_and_after(void* unused) {
    open_work();
    while (atomic_load(&locked_in) == 0) crunch(1000);
    sandboxed_work();
    return unused;
}

static void lock_in_a_crowd(void (*lock_in)(void)) {
    enum { crowd = 3 };
    pthread_t threads[crowd];
    for (int i = 0; i < crowd; ++i) CHECK(pthread_create(&threads[i], NULL, work_before_and_after, NULL) == 0);
    open_work();
    lock_in();
    atomic_store(&locked_in, 1);
    sandboxed_work();
    for (int i = 0; i < crowd; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
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
    else if (strcmp(mode, "no_return") == 0)
        allow_no_return();
    else if (strcmp(mode, "kill_everyone") == 0)
        lock_in_a_crowd(kill_for_everyone);
    else if (strcmp(mode, "child") == 0)
        child_of_no_fork();
    else if (strcmp(mode, "deny_everyone") == 0)
        lock_in_a_crowd(deny_for_everyone);
    else if (strcmp(mode, "no_counter") == 0) {
        if (keep_off_counter() != 0) return 77;
    } else
        return 2;
    sandboxed_work();
    const char* text = "done\n";
    if (write(1, text, strlen(text)) < 0) return 3; /* printf would ask what kind of file it writes to */
    if (strcmp(mode, "fault") == 0) *(volatile int*)strlen("") = 1;
    return 0;
}
