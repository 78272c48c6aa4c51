// What it costs that a library stands before the allocator: `interposed BYTES [LIBRARY...]`. One process measures pairs
// of malloc and free: glibc's own, those of an interposer that only jumps on, and those of each library, in bursts of
// 300 pairs by turns. A burst takes a few microseconds, so that other load disturbs few of them. Prints cycles of the
// time stamp counter (elsewhere nanoseconds) for a pair: the least, the tenth percentile and the median.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { in_burst = 300, rounds = 20000, most_ways = 8 };

struct way {
    const char* name;
    void* (*allocate)(size_t);
    void (*release)(void*);
    uint64_t took[rounds];
};
static struct way ways[most_ways];

// What any interposer must do.
void* (*floor_allocate)(size_t);
void (*floor_release)(void*);
static __attribute__((noinline)) void* jumps_to_malloc(size_t size) { return floor_allocate(size); }
static __attribute__((noinline)) void jumps_to_free(void* memory) { floor_release(memory); }
#if __has_builtin(__builtin_ia32_rdtsc)
static uint64_t now(void) { return __builtin_ia32_rdtsc(); }
#else
static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}
#endif

static __attribute__((noinline)) uint64_t burst(const struct way* way, size_t bytes) {
    const uint64_t begin = now();
    for (int i = 0; i < in_burst; ++i) {
        void* memory = way->allocate(bytes);
        __asm__ volatile("" : "+r"(memory) : : "memory");
        way->release(memory);
    }
    return now() - begin;
}

static int by_size(const void* one, const void* other) {
    const uint64_t a = *(const uint64_t*)one, b = *(const uint64_t*)other;
    return (a > b) - (a < b);
}

static void* sleeper(void* unused) {
    pause();
    return unused;
}

int main(int argc, char** argv) {
    if (argc < 2 || argc > most_ways) return 2;
    pthread_t thread;  // with a second one glibc's malloc locks
    if (pthread_create(&thread, NULL, sleeper, NULL) != 0) return 1;
    floor_allocate = malloc;
    floor_release = free;
    ways[0] = (struct way){.name = "direct", .allocate = malloc, .release = free};
    ways[1] = (struct way){.name = "one jump", .allocate = jumps_to_malloc, .release = jumps_to_free};
    int count = 2;
    for (int i = 2; i < argc; ++i, ++count) {
        void* const library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
        ways[count].name = argv[i];
        *(void**)&ways[count].allocate = dlsym(library, "malloc");
        *(void**)&ways[count].release = dlsym(library, "free");
        if (ways[count].allocate == NULL || ways[count].release == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
    }
    const size_t bytes = strtoul(argv[1], NULL, 10);
    for (int round = 0; round < rounds; ++round)
        for (int i = 0; i < count; ++i) ways[i].took[round] = burst(&ways[i], bytes);
    for (int i = 0; i < count; ++i) {
        qsort(ways[i].took, rounds, sizeof *ways[i].took, by_size);
        const uint64_t* const took = ways[i].took;
        printf("%6.2f %6.2f %6.2f  %s\n", (double)took[0] / in_burst, (double)took[rounds / 10] / in_burst,
               (double)took[rounds / 2] / in_burst, ways[i].name);
    }
    return 0;
}
