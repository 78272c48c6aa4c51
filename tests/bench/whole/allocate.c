// Does nothing but allocate, as allocations.py asks: `allocate pairs|grow|fill BYTES SECONDS [KIB [single]]`, that deep
// in its stack. A thread that sleeps makes glibc's malloc lock as in every program with threads, unless `single`.
// Prints how many nanoseconds an allocation took and its free, by the wall clock and of the thread's CPU time.
// `allocate hold BYTES SECONDS MIB [KIB [churn]]`: has so much alive for that long; with `churn` replaces pieces
// meanwhile. Prints how many KiB were resident at most, and are mapped for perf events.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { in_a_row = 1000, alive = 1024 };

static void* held[alive];
static uint32_t number = 1;

static void* keep(void* memory) {
    __asm__ volatile("" : "+r"(memory) : : "memory");
    return memory;
}

static uint32_t drawn(void) {
    number = number * 1664525 + 1013904223;
    return number >> 8;
}

static double seconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void pairs(size_t bytes) {
    for (size_t i = 0; i < in_a_row; ++i) free(keep(malloc(bytes)));
}

static void grow(size_t bytes) {
    for (size_t i = 0; i < in_a_row; ++i) {
        void** const place = &held[drawn() % alive];
        free(*place);
        *place = keep(malloc(bytes));
    }
}

// Of all sizes up to that, small ones most often; all bytes are written.
static void fill(size_t most) {
    for (size_t i = 0; i < in_a_row; ++i) {
        const size_t bytes = 16 + drawn() % (1 + (most >> drawn() % 10));
        void** const place = &held[drawn() % alive];
        free(*place);
        *place = keep(memset(malloc(bytes), 1, bytes));
    }
}

static void work(void (*allocate)(size_t), size_t bytes, double duration) {
    for (int i = 0; i < 10; ++i) allocate(bytes);
    const double begin = seconds(CLOCK_MONOTONIC), used = seconds(CLOCK_THREAD_CPUTIME_ID);
    double calls = 0, now = begin;
    for (; now < begin + duration; now = seconds(CLOCK_MONOTONIC)) {
        allocate(bytes);
        calls += in_a_row;
    }
    printf("%.3f %.3f\n", (now - begin) * 1e9 / calls, (seconds(CLOCK_THREAD_CPUTIME_ID) - used) * 1e9 / calls);
}

static __attribute__((noinline)) void deeper(size_t kib, void (*allocate)(size_t), size_t bytes, double duration) {
    char room[1024];
    keep(room);
    kib == 0 ? work(allocate, bytes, duration) : deeper(kib - 1, allocate, bytes, duration);
    keep(room);
}

static unsigned long in_file(const char* path, const char* format, const char* word) {
    FILE* const file = fopen(path, "r");
    char line[1024];
    unsigned long sum = 0, one = 0, end = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strstr(line, word) == NULL) continue;
        const int found = sscanf(line, format, &one, &end);
        sum += found == 2 ? (end - one) / 1024 : found == 1 ? one : 0;
    }
    if (file != NULL) fclose(file);
    return sum;
}

static void hold(size_t bytes, double duration, size_t mib, int churns) {
    const size_t count = (mib << 20) / bytes;
    void** const pieces = calloc(count, sizeof *pieces);
    for (size_t i = 0; i < count; ++i) pieces[i] = keep(memset(malloc(bytes), 1, bytes));
    for (const double end = seconds(CLOCK_MONOTONIC) + duration; seconds(CLOCK_MONOTONIC) < end;) {
        if (!churns) usleep(10000);
        for (size_t i = 0; churns && i < in_a_row; ++i) {
            void** const place = &pieces[((size_t)drawn() << 8 ^ drawn()) % count];
            free(*place);
            *place = keep(memset(malloc(bytes), 1, bytes));
        }
    }
    printf("%lu %lu\n", in_file("/proc/self/status", "VmHWM: %lu", "VmHWM:"),
           in_file("/proc/self/maps", "%lx-%lx", "[perf_event]"));
}

static __attribute__((noinline)) void hold_deeper(size_t kib, size_t bytes, double duration, size_t mib, int churns) {
    char room[1024];
    keep(room);
    kib == 0 ? hold(bytes, duration, mib, churns) : hold_deeper(kib - 1, bytes, duration, mib, churns);
    keep(room);
}

static void* sleeper(void* unused) {
    pause();
    return unused;
}

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    pthread_t thread;
    if (argv[1][0] == 'h') {
        hold_deeper(argc > 5 ? strtoul(argv[5], NULL, 10) : 0, strtoul(argv[2], NULL, 10), atof(argv[3]),
                    argc > 4 ? strtoul(argv[4], NULL, 10) : 1, argc > 6);
        return 0;
    }
    if (argc < 6 && pthread_create(&thread, NULL, sleeper, NULL) != 0) return 1;
    void (*const allocate)(size_t) = argv[1][0] == 'p' ? pairs : argv[1][0] == 'g' ? grow : fill;
    deeper(argc > 4 ? strtoul(argv[4], NULL, 10) : 0, allocate, strtoul(argv[2], NULL, 10), atof(argv[3]));
    return 0;
}
