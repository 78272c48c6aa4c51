/* syscall(2) takes what it is given: six words, errors in errno and nothing else there, a child on another stack. */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "host.h"

static int in_child(void* number) { return syscall(SYS_getpid) == getpid() ? *(int*)number : 1; }

static NOINLINE void child_of_asker_work(void) {
    work_ms(60);
    __asm__ volatile("");
}

/* Whether the kernel has filters is asked with a program that is not there: none is entered by it. */
static void ask_for_filters(void) {
    int status = 0;
    CHECK(syscall(SYS_seccomp, 1L /* SECCOMP_SET_MODE_FILTER */, 0L, 0L) == -1 && errno == EFAULT);
    CHECK(prctl(PR_SET_SECCOMP, 2L /* SECCOMP_MODE_FILTER */, 0L, 0L, 0L) == -1 && errno == EFAULT);
    const pid_t child = fork();
    if (child == 0) {
        child_of_asker_work();
        _exit(3);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

int main(void) {
    const long flags = MAP_PRIVATE | MAP_ANONYMOUS, rights = PROT_READ | PROT_WRITE;
    char* stack = (char*)syscall(SYS_mmap, 0L, 65536L, rights, flags, -1L, 0L);
    int status = 0, expected = 5;
    CHECK(stack != MAP_FAILED);
    stack[0] = stack[65535] = 1;
    errno = 0;
    CHECK(syscall(SYS_close, -1L) == -1 && errno == EBADF);
    errno = 7;
    CHECK(syscall(SYS_getpid) == getpid() && errno == 7);
    CHECK(syscall(SYS_seccomp, ~0L, 0L, 0L) == -1 && errno == EINVAL);
    ask_for_filters();
    const int child = clone(in_child, stack + 65536, SIGCHLD, &expected);
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == expected);
    work_ms(60);
    printf("system calls done\n");
    return 0;
}
