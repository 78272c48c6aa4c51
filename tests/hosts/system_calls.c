/* syscall(2) takes what it is given: six words, errors in errno and nothing else there, a child on another stack. */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "host.h"

static int in_child(void* number) { return syscall(SYS_getpid) == getpid() ? *(int*)number : 1; }

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
    CHECK(syscall(SYS_seccomp, 1L /* SECCOMP_SET_MODE_FILTER */, 0L, 0L) == -1 && errno == EFAULT);
    const int child = clone(in_child, stack + 65536, SIGCHLD, &expected);
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == expected);
    work_ms(60);
    printf("system calls done\n");
    return 0;
}
