// Becomes another user for good, as a server that starts as root does, and works in threads that it makes afterwards:
// late_threads UID MILLISECONDS (of CPU time, for each of three threads).
#include <grp.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long milliseconds;

__attribute__((noinline)) static void work(void) {
    struct timespec now;
    volatile unsigned done = 0;
    do {
        for (int i = 0; i < 100000; ++i) done += i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < milliseconds);
}

static void* run(void* unused) {
    work();
    return unused;
}

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const unsigned user = (unsigned)atoi(argv[1]);
    milliseconds = atol(argv[2]);
    if (setgroups(0, NULL) != 0 || setgid(user) != 0 || setuid(user) != 0) return 1;
    pthread_t threads[3];
    for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, run, NULL);
    for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
    return 0;
}
