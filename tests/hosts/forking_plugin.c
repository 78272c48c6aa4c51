/* A library whose constructor works, forks and waits for the child: all while the dynamic linker holds its lock. */
#include <sys/wait.h>

#include "host.h"

__attribute__((constructor)) static void constructor_work(void) {
    int status = 0;
    work_ms(400); /* so long that a recording would begin meanwhile */
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        work_ms(100);
        _exit(5);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
}
