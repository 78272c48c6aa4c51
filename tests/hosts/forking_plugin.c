/* A library whose constructor works, forks and waits for the child, or ends the program if the program has a second
   argument: all while the dynamic linker holds its lock. glibc gives constructors main's arguments. */
#include <sys/wait.h>

#include "host.h"

__attribute__((constructor)) static void constructor_work(int argc, char** argv) {
    (void)argv;
    int status = 0;
    work_ms(400); /* so long that a recording would begin meanwhile */
    if (argc > 2) exit(3);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        work_ms(100);
        _exit(5);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
}
