/* A classic daemon: forks twice, starts a session, goes to /, closes every descriptor there can be, works, and leaves
   its verdict in the file named by its argument. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "host.h"

static NOINLINE void daemon_work(void) {
    work_ms(400);
    __asm__ volatile("");
}

int main(int argc, char** argv) {
    struct rlimit limit;
    CHECK(argc > 1 && argv[1][0] == '/');
    pid_t child = fork();
    CHECK(child >= 0);
    if (child > 0) {
        CHECK(waitpid(child, NULL, 0) == child);
        printf("daemon started\n");
        return 0;
    }
    CHECK(setsid() >= 0);
    child = fork();
    if (child != 0) _exit(0);
    CHECK(chdir("/") == 0);
    umask(077);
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    const int highest = limit.rlim_cur > 65536 ? 65536 : (int)limit.rlim_cur;
    for (int fd = 0; fd < highest; ++fd) close(fd);
    close_range(0, ~0U, 0);
    const int null = open("/dev/null", O_RDWR); /* the lowest is free again: 0, 1 and 2 were not taken */
    const int out = dup(null), err = dup(null);
    daemon_work();
    const int verdict = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0666);
    const char* text = null == 0 && out == 1 && err == 2 && verdict == 3 ? "right\n" : "descriptors taken\n";
    if (write(verdict, text, strlen(text)) < 0) return 1;
    return 0;
}
