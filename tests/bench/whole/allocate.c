// Does nothing but allocate, as allocations.py asks: `pairs N BYTES` and `grow N BYTES`; prints the nanoseconds of one
// malloc and free.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void* keep(void* memory) {
    __asm__ volatile("" : "+r"(memory) : : "memory");
    return memory;
}

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    const size_t calls = strtoul(argv[2], NULL, 10), bytes = strtoul(argv[3], NULL, 10);
    for (size_t i = 0; i < 10000; ++i) free(keep(malloc(bytes)));
    const double begin = now_ns();
    if (strcmp(argv[1], "pairs") == 0) {
        for (size_t i = 0; i < calls; ++i) free(keep(malloc(bytes)));
    } else {  // a thousand alive at any time
        static void* held[1024];
        for (size_t i = 0; i < calls; ++i) {
            void** const place = &held[i * 2654435761u % 1024];
            free(*place);
            *place = keep(malloc(bytes));
        }
    }
    printf("%.3f\n", (now_ns() - begin) / (double)calls);
    return 0;
}
