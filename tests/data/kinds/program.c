// The program whose profiles lie beside it: ./make records them anew.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

__attribute__((noinline)) void parse(int rounds) {
    for (int i = 0; i < rounds * 10000; i++) sink += (unsigned long)i * 7;
}
__attribute__((noinline)) void answer(int rounds) {
    for (int i = 0; i < rounds * 10000; i++) sink ^= (unsigned long)i;
}
__attribute__((noinline)) void keep(void) {
    char* const kept = malloc(100000);
    if (kept != NULL) memset(kept, 1, 100000);
    sink += (unsigned long)kept;
}
__attribute__((noinline)) void serve(double seconds) {
    for (const double end = cpu_seconds() + seconds; cpu_seconds() < end;) {
        parse(3);
        answer(2);
    }
}
static void* work(void* seconds) {
    serve(*(double*)seconds);
    return NULL;
}

int main(int count, char** words) {
    double seconds = 0.3;
    const char* const mode = count > 1 ? words[1] : "";
    if (strcmp(mode, "processes") == 0) {
        for (int child = 0; child < 3; child++)
            if (fork() == 0) return serve(seconds), 0;
        while (wait(NULL) > 0) {
        }
    } else if (strcmp(mode, "waits") == 0) {
        serve(0.2);
        for (int i = 0; i < 20; i++) usleep(10000);
    } else if (strcmp(mode, "keeps") == 0) {
        for (int i = 0; i < 100; i++) {
            keep();
            usleep(500);
        }
        serve(0.2);
    } else if (strcmp(mode, "long") == 0) {
        serve(40);
    } else {
        pthread_t thread;
        pthread_create(&thread, NULL, work, &seconds);
        serve(seconds);
        pthread_join(thread, NULL);
    }
    return 0;
}
