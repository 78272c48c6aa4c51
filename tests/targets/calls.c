// calls SECONDS [faults]: CPU time in user code and in three system calls, in turn, and in page faults if asked for: of
// fault_work in the first half, and of later_fault_work in the second.
// What a call costs is the machine's affair, so no share is known beforehand; but all is seen by root's perf too.
// At its end it says how many rounds it made in how many nanoseconds of its thread's CPU time, its start not counted,
// and how many of these were user_work's.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int zero, null;
static char buffer[1 << 16];
static volatile unsigned long sink;

__attribute__((noinline)) static void user_work(int times) {
    for (int i = 0; i < times; i++) sink = sink * 31 + (unsigned long)i;
}

__attribute__((noinline)) static void read_work(int times) {
    for (int i = 0; i < times; i++)
        if (read(zero, buffer, sizeof buffer) < 0) abort();
}

__attribute__((noinline)) static void write_work(int times) {
    for (int i = 0; i < times; i++)
        if (write(null, buffer, 1) < 0) abort();
}

__attribute__((noinline)) static void short_work(int times) {
    for (int i = 0; i < times; i++) (void)getppid();
}

static inline __attribute__((always_inline)) void touch_memory(int times, char value) {
    const long size = 1 << 20, page = 4096;
    for (int i = 0; i < times; i++) {
        char* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) abort();
        for (long at = 0; at < size; at += page) memory[at] = value;
        munmap(memory, size);
    }
}

__attribute__((noinline)) static void fault_work(int times) { touch_memory(times, 1); }
__attribute__((noinline)) static void later_fault_work(int times) { touch_memory(times, 2); }

// Of the calling thread. Exact to the nanosecond for 100 days.
static double cpu_ns(void) {
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (double)used.tv_sec * 1e9 + (double)used.tv_nsec;
}

// `times`, more or less: rounds of one length could be in step with the samples, which then hit one part of it more
// often than chance would. In the middle as often as asked for.
static int about(int times) {
    static unsigned state = 1;
    state = state * 1664525u + 1013904223u;
    return (int)(times * (0.5 + state / 4294967296.0));
}

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? atof(argv[1]) : 1;
    zero = open("/dev/zero", O_RDONLY);
    null = open("/dev/null", O_WRONLY);
    const double begun = cpu_ns();
    double ns = 0, user_ns = 0;
    unsigned long rounds = 0;
    while (ns < seconds * 1e9) {
        user_work(about(200000));
        user_ns += cpu_ns() - begun - ns;
        read_work(about(60));
        write_work(about(1200));
        short_work(about(2000));
        if (argc > 2) ns < seconds * 0.5e9 ? fault_work(2) : later_fault_work(2);
        ns = cpu_ns() - begun;
        ++rounds;
    }
    printf("%lu rounds in %.0f ns, user_work in %.0f ns\n", rounds, ns, user_ns);
    return 0;
}
