/* Threads that use little CPU time, and whose first 0.3 of it is in another function than the rest: lives MODE THREADS
   LEAST_US MOST_US. Each uses between so many microseconds of CPU. MODE: sleepers (all at once, sleeping 20 ms and
   working 50 us in turn), busy (three at a time), sequence (one after the other). Prints the nanoseconds of CPU time in
   early(), in both functions, and of the process: what a thread uses before early() is in neither. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int sleeps;
static uint64_t in_early, in_both;

static uint64_t read_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
static uint64_t own_cpu(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

static inline __attribute__((always_inline)) void work_until(uint64_t end_ns) {
    const struct timespec pause = {0, 20000000};
    for (uint64_t now = own_cpu(); now < end_ns;) {
        if (sleeps) nanosleep(&pause, NULL);
        const uint64_t stop = (sleeps ? own_cpu() : now) + 50000;
        for (; now < stop && now < end_ns; now = own_cpu())
            for (int i = 0; i < 20000; ++i) __asm__ volatile("");
    }
}

__attribute__((noinline)) void early(uint64_t end_ns) {
    work_until(end_ns);
    __asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) void late(uint64_t end_ns) {
    work_until(end_ns);
    __asm__ volatile("" ::: "memory");
}

static void* life(void* cpu_us) {
    const uint64_t life_ns = (uint64_t)(uintptr_t)cpu_us * 1000, begun = own_cpu();
    early(begun + life_ns * 3 / 10);
    __atomic_fetch_add(&in_early, own_cpu() - begun, __ATOMIC_RELAXED);
    late(begun + life_ns);
    __atomic_fetch_add(&in_both, own_cpu() - begun, __ATOMIC_RELAXED);
    return NULL;
}

int main(int argc, char** argv) {
    if (argc < 5) return 2;
    sleeps = strcmp(argv[1], "sleepers") == 0;
    const unsigned count = (unsigned)atoi(argv[2]), least = (unsigned)atoi(argv[3]), most = (unsigned)atoi(argv[4]);
    const unsigned at_once = sleeps ? count : strcmp(argv[1], "busy") == 0 ? 3 : 1;
    pthread_t* const threads = calloc(count, sizeof *threads);
    unsigned joined = 0;
    for (unsigned i = 0; i < count; ++i) {
        if (i >= at_once) pthread_join(threads[joined++], NULL);
        const unsigned cpu_us = least + (i * 2654435761u >> 8) % (most - least + 1);
        if (pthread_create(&threads[i], NULL, life, (void*)(uintptr_t)cpu_us) != 0) return 1;
    }
    while (joined < count) pthread_join(threads[joined++], NULL);
    printf("%llu %llu %llu\n", (unsigned long long)in_early, (unsigned long long)in_both,
           (unsigned long long)read_clock(CLOCK_PROCESS_CPUTIME_ID));
    free(threads);
    return 0;
}
