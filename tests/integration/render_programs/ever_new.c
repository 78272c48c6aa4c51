/* Every stack is a new one: a random path of calls 800 deep, some work at its end, and the next.
 *   ever_new MILLISECONDS */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned sink;
static unsigned state = 1;

static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int left(int depth);
static int right(int depth);

static int __attribute__((noinline)) next(int depth) {
    if (depth == 0) {
        for (int i = 0; i < 200000; ++i) sink = sink * 2654435761u + 1;
        return 0;
    }
    state = state * 1664525u + 1013904223u;
    return ((state >> 24) & 1 ? left(depth - 1) : right(depth - 1)) + 1;
}
static int __attribute__((noinline)) left(int depth) { return next(depth) + 1; }
static int __attribute__((noinline)) right(int depth) { return next(depth) + 2; }

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? atof(argv[1]) / 1000 : 1;
    int sum = 0;
    while (cpu_seconds() < seconds) sum += next(400);
    puts(sum > 0 ? "done" : "wrong");
    return 0;
}
