/* What all host programs share. A host does something a profiler might break, checks its own result, prints one line
   and ends in a known way. What it prints must be the same with and without FlameProbe. */
#ifndef HOST_H
#define HOST_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                                                                   \
    do {                                                                                                   \
        if (!(condition)) {                                                                                \
            fprintf(stderr, "%s:%d: not true: %s (errno %d: %s)\n", __FILE__, __LINE__, #condition, errno, \
                    strerror(errno));                                                                      \
            _exit(1);                                                                                      \
        }                                                                                                  \
    } while (0)

#define NOINLINE __attribute__((noinline, unused))

static inline double cpu_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e3 * now.tv_sec + 1e-6 * now.tv_nsec;
}

/* Arithmetic with a known answer: the same however long it takes. */
static NOINLINE unsigned long crunch(unsigned long rounds) {
    unsigned long value = 1;
    for (unsigned long i = 0; i < rounds; ++i) {
        value = value * 6364136223846793005UL + 1442695040888963407UL;
        __asm__ volatile("" : "+r"(value));
    }
    return value;
}

/* Uses so many milliseconds of the calling thread's CPU time, nearly all in user space. */
static NOINLINE void work_ms(double ms) {
    const double end = cpu_ms() + ms;
    while (cpu_ms() < end) crunch(20000);
    __asm__ volatile("");
}

#endif
