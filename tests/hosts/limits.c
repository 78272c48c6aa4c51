/* A host that uses up what it may have: limits descriptors | memory | files | signals | locked | real_time | none_left
   | held MEBIBYTES. It must get as much as without FlameProbe (descriptors: exactly), and go on. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

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

static unsigned long queued_signals(void) {
    char line[200];
    unsigned long queued = 0;
    FILE* const status = fopen("/proc/self/status", "r");
    CHECK(status != NULL);
    while (fgets(line, sizeof line, status) != NULL) sscanf(line, "SigQ: %lu", &queued);
    fclose(status);
    return queued;
}

static void* wait_for_end(void* barrier) {
    pthread_barrier_wait(barrier);
    work_ms(2);
    pthread_barrier_wait(barrier);
    return NULL;
}

/* Timers and queued signals, of a user that may have a hundred more in all processes. */
static NOINLINE void signals_of_a_crowd(void) {
    enum { threads = 100, wanted = 15 };
    pthread_t thread[threads];
    pthread_barrier_t barrier;
    timer_t timer;
    sigset_t queued;
    const unsigned long most = queued_signals() + threads;
    const struct rlimit limit = {most, most};
    int timers = 0, signals = 0;
    CHECK(setrlimit(RLIMIT_SIGPENDING, &limit) == 0);
    sigemptyset(&queued);
    sigaddset(&queued, SIGRTMIN);
    CHECK(pthread_sigmask(SIG_BLOCK, &queued, NULL) == 0);
    CHECK(pthread_barrier_init(&barrier, NULL, threads + 1) == 0);
    for (int i = 0; i < threads; ++i) CHECK(pthread_create(&thread[i], NULL, wait_for_end, &barrier) == 0);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < wanted; ++i) timers += timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0;
    for (int i = 0; i < wanted; ++i) signals += sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i}) == 0;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < threads; ++i) CHECK(pthread_join(thread[i], NULL) == 0);
    work_ms(80);
    printf("%d timers, %d signals of %d\n", timers, signals, wanted);
}

static int may_map(size_t size) {
    char* const memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) memset(memory, 1, size);
    return memory != MAP_FAILED;
}

/* All of its memory, of a user who may lock 8 MiB, now and from now on. */
static NOINLINE void locked_memory(void) {
    const struct rlimit limit = {8 << 20, 8 << 20};
    pthread_barrier_t barrier;
    pthread_attr_t small;
    pthread_t thread;
    CHECK(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
    work_ms(150);
    const int now = (int)syscall(SYS_mlockall, (long)MCL_CURRENT), after = munlockall();
    const int both = mlockall(MCL_CURRENT | MCL_FUTURE), some = may_map(3 << 20), more = may_map(8 << 20);
    CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0 && pthread_attr_init(&small) == 0);
    CHECK(pthread_attr_setstacksize(&small, 128 << 10) == 0);
    for (int i = 0; i < 5; ++i) {
        CHECK(pthread_create(&thread, &small, wait_for_end, &barrier) == 0);
        for (int turn = 0; turn < 2; ++turn) pthread_barrier_wait(&barrier);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    work_ms(150);
    printf("locked %d %d %d, mapped %d %d\n", now, after, both, some, more);
}

/* The kernel looks at this limit for every thread that has a CPU timer, and ends the process. */
static NOINLINE void no_real_time(void) {
    const struct rlimit none = {0, 0};
    work_ms(80);
    CHECK(setrlimit(RLIMIT_RTTIME, &none) == 0);
    work_ms(80);
    if (fork() == 0) {
        work_ms(40);
        _exit(0);
    }
    int status = 1;
    CHECK(wait(&status) > 0 && status == 0);
    printf("no real time, and on\n");
}

/* No file may be opened any more. */
static NOINLINE void no_descriptors(void) {
    const struct rlimit none = {0, 0};
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    work_ms(80);
    printf("no descriptors, and on\n");
}

static NOINLINE void held_memory(size_t size) {
    CHECK(may_map(size));
    work_ms(200);
    printf("held\n");
}

int main(int argc, char** argv) {
    const char* mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "descriptors") == 0)
        all_descriptors();
    else if (strcmp(mode, "memory") == 0)
        all_memory();
    else if (strcmp(mode, "files") == 0)
        short_files();
    else if (strcmp(mode, "signals") == 0)
        signals_of_a_crowd();
    else if (strcmp(mode, "locked") == 0)
        locked_memory();
    else if (strcmp(mode, "real_time") == 0)
        no_real_time();
    else if (strcmp(mode, "none_left") == 0)
        no_descriptors();
    else if (strcmp(mode, "held") == 0 && argc > 2)
        held_memory((size_t)atoi(argv[2]) << 20);
    else
        return 2;
    return 0;
}
