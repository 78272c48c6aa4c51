/* A host that uses up what it may have: limits descriptors | memory | files. It must get as much as without FlameProbe
   (descriptors: exactly), and go on. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "host.h"

static NOINLINE void all_descriptors(void) {
    const struct rlimit limit = {200, 200};
    int opened = 0, highest = 0;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    for (int fd; (fd = open("/dev/null", O_RDONLY)) >= 0; ++opened) highest = fd;
    CHECK(errno == EMFILE);
    work_ms(80);
    printf("%d opened, the last is %d\n", opened, highest);
}

static NOINLINE void all_memory(void) {
    const struct rlimit limit = {300UL << 20, 300UL << 20};
    unsigned long pieces = 0;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    while (mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) ++pieces;
    CHECK(errno == ENOMEM);
    CHECK(pieces >= 30); /* 300 MiB of address space, less what is mapped already */
    work_ms(80);
    printf("no memory left, and on\n");
}

/* Every file may grow to 64 KiB; writing beyond gives SIGXFSZ or EFBIG, which are the host's own to see. */
static NOINLINE void short_files(void) {
    const struct rlimit limit = {65536, 65536};
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    work_ms(600);
    printf("short files, and on\n");
}

int main(int argc, char** argv) {
    const char* mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "descriptors") == 0)
        all_descriptors();
    else if (strcmp(mode, "memory") == 0)
        all_memory();
    else if (strcmp(mode, "files") == 0)
        short_files();
    else
        return 2;
    return 0;
}
